_ane() {
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
                cmd="ane"
                ;;
            ane,bench)
                cmd="ane__subcmd__bench"
                ;;
            ane,build)
                cmd="ane__subcmd__build"
                ;;
            ane,campaign)
                cmd="ane__subcmd__campaign"
                ;;
            ane,compare)
                cmd="ane__subcmd__compare"
                ;;
            ane,compile)
                cmd="ane__subcmd__compile"
                ;;
            ane,completions)
                cmd="ane__subcmd__completions"
                ;;
            ane,convert)
                cmd="ane__subcmd__convert"
                ;;
            ane,daemon)
                cmd="ane__subcmd__daemon"
                ;;
            ane,dart)
                cmd="ane__subcmd__dart"
                ;;
            ane,decode)
                cmd="ane__subcmd__decode"
                ;;
            ane,demo)
                cmd="ane__subcmd__demo"
                ;;
            ane,diff)
                cmd="ane__subcmd__diff"
                ;;
            ane,doctor)
                cmd="ane__subcmd__doctor"
                ;;
            ane,exec)
                cmd="ane__subcmd__exec"
                ;;
            ane,explain)
                cmd="ane__subcmd__explain"
                ;;
            ane,faults)
                cmd="ane__subcmd__faults"
                ;;
            ane,help)
                cmd="ane__subcmd__help"
                ;;
            ane,info)
                cmd="ane__subcmd__info"
                ;;
            ane,man)
                cmd="ane__subcmd__man"
                ;;
            ane,mover)
                cmd="ane__subcmd__mover"
                ;;
            ane,patch)
                cmd="ane__subcmd__patch"
                ;;
            ane,regs)
                cmd="ane__subcmd__regs"
                ;;
            ane,report)
                cmd="ane__subcmd__report"
                ;;
            ane,run)
                cmd="ane__subcmd__run"
                ;;
            ane,sram)
                cmd="ane__subcmd__sram"
                ;;
            ane,trace)
                cmd="ane__subcmd__trace"
                ;;
            ane,vm)
                cmd="ane__subcmd__vm"
                ;;
            ane__subcmd__campaign,help)
                cmd="ane__subcmd__campaign__subcmd__help"
                ;;
            ane__subcmd__campaign,report)
                cmd="ane__subcmd__campaign__subcmd__report"
                ;;
            ane__subcmd__campaign__subcmd__help,help)
                cmd="ane__subcmd__campaign__subcmd__help__subcmd__help"
                ;;
            ane__subcmd__campaign__subcmd__help,report)
                cmd="ane__subcmd__campaign__subcmd__help__subcmd__report"
                ;;
            ane__subcmd__help,bench)
                cmd="ane__subcmd__help__subcmd__bench"
                ;;
            ane__subcmd__help,build)
                cmd="ane__subcmd__help__subcmd__build"
                ;;
            ane__subcmd__help,campaign)
                cmd="ane__subcmd__help__subcmd__campaign"
                ;;
            ane__subcmd__help,compare)
                cmd="ane__subcmd__help__subcmd__compare"
                ;;
            ane__subcmd__help,compile)
                cmd="ane__subcmd__help__subcmd__compile"
                ;;
            ane__subcmd__help,completions)
                cmd="ane__subcmd__help__subcmd__completions"
                ;;
            ane__subcmd__help,convert)
                cmd="ane__subcmd__help__subcmd__convert"
                ;;
            ane__subcmd__help,daemon)
                cmd="ane__subcmd__help__subcmd__daemon"
                ;;
            ane__subcmd__help,dart)
                cmd="ane__subcmd__help__subcmd__dart"
                ;;
            ane__subcmd__help,decode)
                cmd="ane__subcmd__help__subcmd__decode"
                ;;
            ane__subcmd__help,demo)
                cmd="ane__subcmd__help__subcmd__demo"
                ;;
            ane__subcmd__help,diff)
                cmd="ane__subcmd__help__subcmd__diff"
                ;;
            ane__subcmd__help,doctor)
                cmd="ane__subcmd__help__subcmd__doctor"
                ;;
            ane__subcmd__help,exec)
                cmd="ane__subcmd__help__subcmd__exec"
                ;;
            ane__subcmd__help,explain)
                cmd="ane__subcmd__help__subcmd__explain"
                ;;
            ane__subcmd__help,faults)
                cmd="ane__subcmd__help__subcmd__faults"
                ;;
            ane__subcmd__help,help)
                cmd="ane__subcmd__help__subcmd__help"
                ;;
            ane__subcmd__help,info)
                cmd="ane__subcmd__help__subcmd__info"
                ;;
            ane__subcmd__help,man)
                cmd="ane__subcmd__help__subcmd__man"
                ;;
            ane__subcmd__help,mover)
                cmd="ane__subcmd__help__subcmd__mover"
                ;;
            ane__subcmd__help,patch)
                cmd="ane__subcmd__help__subcmd__patch"
                ;;
            ane__subcmd__help,regs)
                cmd="ane__subcmd__help__subcmd__regs"
                ;;
            ane__subcmd__help,report)
                cmd="ane__subcmd__help__subcmd__report"
                ;;
            ane__subcmd__help,run)
                cmd="ane__subcmd__help__subcmd__run"
                ;;
            ane__subcmd__help,sram)
                cmd="ane__subcmd__help__subcmd__sram"
                ;;
            ane__subcmd__help,trace)
                cmd="ane__subcmd__help__subcmd__trace"
                ;;
            ane__subcmd__help,vm)
                cmd="ane__subcmd__help__subcmd__vm"
                ;;
            ane__subcmd__help__subcmd__campaign,report)
                cmd="ane__subcmd__help__subcmd__campaign__subcmd__report"
                ;;
            ane__subcmd__help__subcmd__vm,check)
                cmd="ane__subcmd__help__subcmd__vm__subcmd__check"
                ;;
            ane__subcmd__help__subcmd__vm,recover)
                cmd="ane__subcmd__help__subcmd__vm__subcmd__recover"
                ;;
            ane__subcmd__help__subcmd__vm,run)
                cmd="ane__subcmd__help__subcmd__vm__subcmd__run"
                ;;
            ane__subcmd__help__subcmd__vm,setup)
                cmd="ane__subcmd__help__subcmd__vm__subcmd__setup"
                ;;
            ane__subcmd__vm,check)
                cmd="ane__subcmd__vm__subcmd__check"
                ;;
            ane__subcmd__vm,help)
                cmd="ane__subcmd__vm__subcmd__help"
                ;;
            ane__subcmd__vm,recover)
                cmd="ane__subcmd__vm__subcmd__recover"
                ;;
            ane__subcmd__vm,run)
                cmd="ane__subcmd__vm__subcmd__run"
                ;;
            ane__subcmd__vm,setup)
                cmd="ane__subcmd__vm__subcmd__setup"
                ;;
            ane__subcmd__vm__subcmd__help,check)
                cmd="ane__subcmd__vm__subcmd__help__subcmd__check"
                ;;
            ane__subcmd__vm__subcmd__help,help)
                cmd="ane__subcmd__vm__subcmd__help__subcmd__help"
                ;;
            ane__subcmd__vm__subcmd__help,recover)
                cmd="ane__subcmd__vm__subcmd__help__subcmd__recover"
                ;;
            ane__subcmd__vm__subcmd__help,run)
                cmd="ane__subcmd__vm__subcmd__help__subcmd__run"
                ;;
            ane__subcmd__vm__subcmd__help,setup)
                cmd="ane__subcmd__vm__subcmd__help__subcmd__setup"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        ane)
            opts="-h -V --help --version run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__bench)
            opts="-h -V --seconds --timeout --json --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__build)
            opts="-o -h -V --output --force --values-max --operations --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --values-max)
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
        ane__subcmd__campaign)
            opts="-o -q -h -V --output --shard --jobs --seconds --mebibytes --list --quiet --worker --help --version report help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --shard)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --jobs)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mebibytes)
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
        ane__subcmd__campaign__subcmd__help)
            opts="report help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__campaign__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__campaign__subcmd__help__subcmd__report)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__campaign__subcmd__report)
            opts="-h -V --junit --html --json --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --junit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --html)
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
        ane__subcmd__compare)
            opts="-i -h -V --bind --dim --cut --input --seed --json --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --bind)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --dim)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cut)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --input)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__compile)
            opts="-o -h -V --bind --dim --cut --output --force --report --json --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --bind)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --dim)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cut)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
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
        ane__subcmd__completions)
            opts="-h -V --help --version bash elvish fish powershell zsh"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__convert)
            opts="-h -V --force --short-header --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__daemon)
            opts="-s -h -V --socket-path --poll-us --request-limit --request-tasks --user-limit --user-tasks --no-sandbox --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
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
                --poll-us)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --request-limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --request-tasks)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --user-limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --user-tasks)
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
        ane__subcmd__dart)
            opts="-h -V --json --control --engine --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --windows --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__decode)
            opts="-h -V --json --explain --all --changes --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__demo)
            opts="-h -V --save --force --trace --json --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --save)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trace)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__diff)
            opts="-h -V --ulps --tolerance --json --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --ulps)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tolerance)
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
        ane__subcmd__doctor)
            opts="-h -V --json --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__exec)
            opts="-q -h -V --root --timeout --quiet --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --root)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__explain)
            opts="-h -V --json --control --engine --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__faults)
            opts="-h -V --json --control --engine --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__help)
            opts="run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__bench)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__build)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__campaign)
            opts="report"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__campaign__subcmd__report)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__compare)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__compile)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__completions)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__convert)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__daemon)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__dart)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__decode)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__demo)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__diff)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__doctor)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__exec)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__explain)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__faults)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__info)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__man)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__mover)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__patch)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__regs)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__report)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__run)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__sram)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__trace)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__vm)
            opts="run recover check setup"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__vm__subcmd__check)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__vm__subcmd__recover)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__vm__subcmd__run)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__help__subcmd__vm__subcmd__setup)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__info)
            opts="-h -V --json --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --device)
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
        ane__subcmd__man)
            opts="-o -h -V --output --force --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
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
        ane__subcmd__mover)
            opts="-h -V --json --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --device)
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
        ane__subcmd__patch)
            opts="-o -h -V --task --set --coefficients --output --force --json --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --task)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --set)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --coefficients)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
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
        ane__subcmd__regs)
            opts="-h -V --json --control --engine --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --range --all --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
                --range)
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
        ane__subcmd__report)
            opts="-o -h -V --output --force --chip --run --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chip)
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
        ane__subcmd__run)
            opts="-i -o -h -V --input --output --force --seed --constant --allow-nan --repeat --timeout --trace --json --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --input)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --constant)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --repeat)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trace)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__sram)
            opts="-h -V --chip --target --json --svg --force --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --chip)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --svg)
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
        ane__subcmd__trace)
            opts="-h -V --json --control --engine --device --chip --instance --pte-format --fault-policy --hang --check --strict --numerics --threads --mover-profile --mover --pe-mmu --no-timing --inject --on --off --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device)
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
        ane__subcmd__vm)
            opts="-h -V --help --version run recover check setup help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__check)
            opts="-h -V --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__help)
            opts="run recover check setup help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__help__subcmd__check)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__help__subcmd__recover)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__help__subcmd__run)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__help__subcmd__setup)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ane__subcmd__vm__subcmd__recover)
            opts="-h -V --socket --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --socket)
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
        ane__subcmd__vm__subcmd__run)
            opts="-h -V --dry-run --machine --module --arch --accel --memory --cpus --no-iommu --kernel --initrd --append --qemu --device-program --device-arg --folder --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --machine)
                    COMPREPLY=($(compgen -W "virtio apple-like" -- "${cur}"))
                    return 0
                    ;;
                --module)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --arch)
                    COMPREPLY=($(compgen -W "x86_64 aarch64" -- "${cur}"))
                    return 0
                    ;;
                --accel)
                    COMPREPLY=($(compgen -W "kvm tcg" -- "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cpus)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --initrd)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --append)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --qemu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device-program)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --device-arg)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --folder)
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
        ane__subcmd__vm__subcmd__setup)
            opts="-h -V --pages --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pages)
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
    complete -F _ane -o nosort -o bashdefault -o default ane
else
    complete -F _ane -o bashdefault -o default ane
fi
