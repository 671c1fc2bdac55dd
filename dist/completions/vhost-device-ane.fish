complete -c vhost-device-ane -s s -l socket-path -d 'Where to listen. In an existing directory, one socket for each engine of the chip, named after its device-tree node: ane.sock, or ane0.sock and so on' -r -F
complete -c vhost-device-ane -l fd -d 'A socket that somebody else listens on and passes as this descriptor, such as a service manager' -r
complete -c vhost-device-ane -l vfio-user -d 'Listen here as a vfio-user server instead: a PCI function whose BARs are the ranges of a real engine, three DARTs and power words, for drivers of the real one' -r -F
complete -c vhost-device-ane -l trace -d 'Write what each engine does, and when, to FILE, as a Chrome trace that Perfetto opens. With several engines each has a file of its own: trace.json becomes trace.ane0.json and so on' -r -F
complete -c vhost-device-ane -l control -d 'Listen here for lines that make faults and tell the state while the device runs, from root and the user that the device runs as; "help" is one' -r -F
complete -c vhost-device-ane -l poll-us -d 'Look for requests this long before sleeping: answers come faster, for a busy processor meanwhile. The time adapts to how quickly requests follow each other, up to this' -r
complete -c vhost-device-ane -l log-level -d 'How much to log: off, error, warn, info, debug or trace. RUST_LOG says it by part, and is asked first' -r
complete -c vhost-device-ane -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: its registers and map; programs are read as H13\'s all the same)' -r
complete -c vhost-device-ane -l instance -d 'Which engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c vhost-device-ane -l pte-format -d 'Layout of page-table entries: seed (valid in bit 63, as Apple\'s kernel hands them over), t8020 or t6000 (valid in bit 0, as Linux writes them: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c vhost-device-ane -l fault-policy -d 'What a real fault does: contain (report it), panic (be dead until reset, as an M1 is), stall (hold the transfer until its stream is invalidated, and try it again) or absorb (where nothing is mapped read zeros, write nothing, and go on) [default: contain, or stall as a platform device]' -r
complete -c vhost-device-ane -l hang -d 'What becomes of a task that would hang an engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c vhost-device-ane -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c vhost-device-ane -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c vhost-device-ane -l mover-profile -d 'Whose description the mover follows: seed (the default) or isa (the vendor\'s instruction-set pages)' -r
complete -c vhost-device-ane -l mover -d 'How the mover is made, as words with commas between them: contended (others use the ports of its memory, so transfers take longer), wait-for-credit (the vendor\'s silicon should wait there, and does not: without this the command is refused), wormhole (parameters are where the vendor\'s earlier chip has them)' -r
complete -c vhost-device-ane -l pe-mmu -d 'Put a PE_MMU before the DART: what no region of it covers is used as it is. Its page is 2 MiB and costs nothing unless ATTRIBUTES, such as page=0x1000,overhead-ns=5,fabric-ns=40, say otherwise' -r
complete -c vhost-device-ane -l inject -d 'Make a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, or lost-interrupt, stuck-queue, ignored-abort or corrupted-completion, which may have a number behind a colon too: how many, or which queue, or wedge, which only a reset or a cycle of the power ends. May be given several times; of one kind the last one counts' -r
complete -c vhost-device-ane -l no-sandbox -d 'Keep what the system lets a program do. Otherwise the device shuts off, before it serves anybody, all files but its sockets and all system calls that serving does not need'
complete -c vhost-device-ane -l print-capabilities -d 'Print what this program can do, as JSON, and exit'
complete -c vhost-device-ane -l check -d 'Report programming mistakes that silicon lets pass'
complete -c vhost-device-ane -l strict -d 'Refuse accesses to registers that nothing is known about, and not just log them; and tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c vhost-device-ane -l no-timing -d 'Do not model what tasks would have taken on the chip: no virtual time in counters, completions and traces'
complete -c vhost-device-ane -s h -l help -d 'Print help (see more with \'--help\')'
complete -c vhost-device-ane -s V -l version -d 'Print version'
