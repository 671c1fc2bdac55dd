complete -c aned -s d -l device -d 'The device: vhost-user:PATH (the socket of vhost-device-ane) or vfio:ADDRESS (a PCI function, such as 0000:01:00.0)' -r
complete -c aned -s s -l socket-path -d 'Where to listen [default: $XDG_RUNTIME_DIR/ane/aned.sock, as root /run/ane/aned.sock]' -r -F
complete -c aned -l fd -d 'A listening socket that a parent process, such as a service manager, passes as this descriptor. It is of type SOCK_SEQPACKET, and every user who may write to it may use the device' -r
complete -c aned -l group -d 'Let this group use the device too: it gets the socket, with mode 0660 unless --mode says otherwise' -r
complete -c aned -l mode -d 'Permissions of the socket, in octal: every user who may write to it may use the device. Without this and --group, only root and the user that the daemon runs as may' -r
complete -c aned -l control -d 'The control socket of the device (vhost-device-ane --control). The daemon tells it to root and to its own user, so that `ane trace` finds the device\'s timeline' -r -F
complete -c aned -l poll-us -d 'Poll this long for messages and for the device before sleeping: answers come faster, and the processor is busy' -r
complete -c aned -l request-limit -d 'End any request that the device works on for longer than this, with ETIME [default: no limit]' -r
complete -c aned -l request-tasks -d 'Refuse a request of more tasks than this, with E2BIG [default: no limit]' -r
complete -c aned -l user-limit -d 'Give a user the engine for this long in each minute; requests beyond wait for the next [default: no limit]' -r
complete -c aned -l user-tasks -d 'While this many tasks of a user wait or run, keep the next request waiting, or refuse it with EAGAIN if it does not wait [default: no limit]' -r
complete -c aned -l log-level -d 'How much to log: off, error, warn, info, debug or trace. RUST_LOG sets it for each module, and goes first' -r
complete -c aned -l no-sandbox -d 'Do not confine the daemon. By default, before it serves a client, it gives up all files but its socket, and all system calls that serving does not need; such a call then ends it'
complete -c aned -s h -l help -d 'Print help (see more with \'--help\')'
complete -c aned -s V -l version -d 'Print version'
