_vhost__device__ane() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="vhost__device__ane"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        vhost__device__ane)
            opts="-s -h -V --socket-path --fd --vfio-user --trace --control --no-sandbox --poll-us --log-level --print-capabilities --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --socket-path)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -s)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fd)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --vfio-user)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trace)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --poll-us)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --log-level)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chip)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --instance)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pte-format)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fault-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --hang)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --numerics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mover-profile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mover)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pe-mmu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --inject)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _vhost__device__ane -o nosort -o bashdefault -o default vhost-device-ane
else
    complete -F _vhost__device__ane -o bashdefault -o default vhost-device-ane
fi
