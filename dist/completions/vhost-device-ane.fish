complete -c vhost-device-ane -s s -l socket-path -d 'Where to listen. If this is a directory, it gets one socket for each engine of the chip, named after its device-tree node: ane.sock, or ane0.sock and so on' -r -F
complete -c vhost-device-ane -l fd -d 'A listening socket that a parent process, such as a service manager, passes as this descriptor' -r
complete -c vhost-device-ane -l vfio-user -d 'Listen here as a vfio-user server instead: a PCI function whose BARs are the register ranges of a real engine, three DARTs and power words, for drivers of the real engine' -r -F
complete -c vhost-device-ane -l trace -d 'Write the timeline of each engine to FILE, as a Chrome trace that Perfetto opens. Each of several engines has its own file: trace.json becomes trace.ane0.json and so on' -r -F
complete -c vhost-device-ane -l control -d 'Listen here for commands that inject faults and show the state of the running device. Root and the user that the device runs as may send them; "help" lists them' -r -F
complete -c vhost-device-ane -l poll-us -d 'Poll at most this long for a request before sleeping: answers come faster, and the processor is busy. The time adapts to how quickly requests follow each other' -r
complete -c vhost-device-ane -l log-level -d 'How much to log: off, error, warn, info, debug or trace. RUST_LOG sets it for each module, and goes first' -r
complete -c vhost-device-ane -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c vhost-device-ane -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c vhost-device-ane -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c vhost-device-ane -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c vhost-device-ane -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c vhost-device-ane -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c vhost-device-ane -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c vhost-device-ane -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c vhost-device-ane -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c vhost-device-ane -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c vhost-device-ane -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c vhost-device-ane -l no-sandbox -d 'Do not confine the device. By default, before it serves a frontend, it gives up all files but its sockets, and all system calls that serving does not need'
complete -c vhost-device-ane -l print-capabilities -d 'Print what this program can do, as JSON, and exit'
complete -c vhost-device-ane -l check -d 'Report programming mistakes that silicon lets pass'
complete -c vhost-device-ane -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c vhost-device-ane -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c vhost-device-ane -s h -l help -d 'Print help (see more with \'--help\')'
complete -c vhost-device-ane -s V -l version -d 'Print version'
