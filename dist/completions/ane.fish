# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ane_global_optspecs
    string join \n h/help V/version
end

function __fish_ane_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ane_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ane_using_subcommand
    set -l cmd (__fish_ane_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ane -n "__fish_ane_needs_command" -s h -l help -d 'Print help'
complete -c ane -n "__fish_ane_needs_command" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_needs_command" -f -a "run" -d 'Run a program on the engine'
complete -c ane -n "__fish_ane_needs_command" -f -a "demo" -d 'Build a small network, run it on the engine, and check what comes out'
complete -c ane -n "__fish_ane_needs_command" -f -a "build" -d 'Build a program from a description'
complete -c ane -n "__fish_ane_needs_command" -f -a "compile" -d 'Compile a model to a program'
complete -c ane -n "__fish_ane_needs_command" -f -a "compare" -d 'Compare a model on the engine with double precision, layer by layer'
complete -c ane -n "__fish_ane_needs_command" -f -a "info" -d 'Describe a program, or a device'
complete -c ane -n "__fish_ane_needs_command" -f -a "decode" -d 'Print a compiled program, word by word'
complete -c ane -n "__fish_ane_needs_command" -f -a "diff" -d 'Compare two programs, two timelines, two arrays, or two folders of outputs'
complete -c ane -n "__fish_ane_needs_command" -f -a "campaign" -d 'Run many programs in many modes, and report which results are right'
complete -c ane -n "__fish_ane_needs_command" -f -a "convert" -d 'Repackage a .hwx program as .anec'
complete -c ane -n "__fish_ane_needs_command" -f -a "patch" -d 'Change registers or constants of a program'
complete -c ane -n "__fish_ane_needs_command" -f -a "report" -d 'Show a program, or two side by side, as a page for a browser'
complete -c ane -n "__fish_ane_needs_command" -f -a "exec" -d 'Run an unmodified program that uses /dev/accel/accel0 on a virtual engine'
complete -c ane -n "__fish_ane_needs_command" -f -a "daemon" -d 'Serve an embedded device to other processes'
complete -c ane -n "__fish_ane_needs_command" -f -a "mover" -d 'Run a transfer script on the mover'
complete -c ane -n "__fish_ane_needs_command" -f -a "vm" -d 'Run a virtual machine that has the device, and set up the guest in it'
complete -c ane -n "__fish_ane_needs_command" -f -a "dart" -d 'Show what each context has mapped, and where'
complete -c ane -n "__fish_ane_needs_command" -f -a "regs" -d 'Show the registers and their values'
complete -c ane -n "__fish_ane_needs_command" -f -a "faults" -d 'Show the faults of a run, or the last of a device'
complete -c ane -n "__fish_ane_needs_command" -f -a "trace" -d 'Show the engine\'s timeline'
complete -c ane -n "__fish_ane_needs_command" -f -a "explain" -d 'Say what an address is, in each of the four address spaces'
complete -c ane -n "__fish_ane_needs_command" -f -a "bench" -d 'Measure the cost of using the engine on this machine'
complete -c ane -n "__fish_ane_needs_command" -f -a "doctor" -d 'Check each layer, with advice for each one that is missing'
complete -c ane -n "__fish_ane_needs_command" -f -a "sram" -d 'Show what a program does with the chip\'s memory, and how long it would take there'
complete -c ane -n "__fish_ane_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c ane -n "__fish_ane_needs_command" -f -a "man" -d 'Print a manual page, or write all of them to a folder'
complete -c ane -n "__fish_ane_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ane -n "__fish_ane_using_subcommand run" -s i -l input -d 'Fill an input from a .npy file; may be given for each' -r
complete -c ane -n "__fish_ane_using_subcommand run" -s o -l output -d 'Write the outputs to a new folder' -r -F
complete -c ane -n "__fish_ane_using_subcommand run" -l seed -d 'Seed of the random inputs' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l constant -d 'Fill inputs without a file with this value instead of random numbers' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l repeat -d 'Run this many times, and print the shortest and the average time' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l timeout -d 'Give up a run that takes longer than this: exit code 4' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l trace -d 'Write what the engine did, and when, as a Chrome trace that Perfetto opens; an embedded device only; a file that exists is replaced' -r -F
complete -c ane -n "__fish_ane_using_subcommand run" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand run" -l force -d 'Replace outputs that are in the folder'
complete -c ane -n "__fish_ane_using_subcommand run" -l allow-nan -d 'Run even if an input has elements that are not numbers (NaN)'
complete -c ane -n "__fish_ane_using_subcommand run" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand run" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand run" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand run" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand run" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand demo" -l save -d 'Keep the program that was built; a file that exists is not overwritten' -r -F
complete -c ane -n "__fish_ane_using_subcommand demo" -l trace -d 'Write what the engine did, and when, as a Chrome trace that Perfetto opens; an embedded device only; a file that exists is replaced' -r -F
complete -c ane -n "__fish_ane_using_subcommand demo" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand demo" -l force -d 'Overwrite a file that exists with the program'
complete -c ane -n "__fish_ane_using_subcommand demo" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand demo" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand demo" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand demo" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand demo" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand build" -s o -l output -d 'The .anec file to write; a file that exists is not overwritten' -r -F
complete -c ane -n "__fish_ane_using_subcommand build" -l values-max -d 'How many values all lines together may have: given ones, arrays, and those that operations make for themselves; each takes a few times two bytes of memory' -r
complete -c ane -n "__fish_ane_using_subcommand build" -l force -d 'Overwrite a file that exists'
complete -c ane -n "__fish_ane_using_subcommand build" -l operations -d 'List the operations'
complete -c ane -n "__fish_ane_using_subcommand build" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand build" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand compile" -l bind -d 'Bind an input to a constant, such as a shape or the weights of a convolution: NAME=FILE, a .npy file or a tensor as .pb' -r
complete -c ane -n "__fish_ane_using_subcommand compile" -l dim -d 'Set the size of an axis that the model leaves open: NAME=N, or NAME.AXIS=N for Core ML' -r
complete -c ane -n "__fish_ane_using_subcommand compile" -l cut -d 'Make the result of a layer an input, such as the embeddings of tokens that are looked up elsewhere' -r
complete -c ane -n "__fish_ane_using_subcommand compile" -s o -l output -d 'The .anec file to write; a file that exists is not overwritten' -r -F
complete -c ane -n "__fish_ane_using_subcommand compile" -l force -d 'Overwrite a file that exists'
complete -c ane -n "__fish_ane_using_subcommand compile" -l report -d 'Print each layer with its tasks'
complete -c ane -n "__fish_ane_using_subcommand compile" -l json -d 'Print JSON for another program to read, with the layers and their tasks'
complete -c ane -n "__fish_ane_using_subcommand compile" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand compile" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand compare" -l bind -d 'Bind an input to a constant, such as a shape or the weights of a convolution: NAME=FILE, a .npy file or a tensor as .pb' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l dim -d 'Set the size of an axis that the model leaves open: NAME=N, or NAME.AXIS=N for Core ML' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l cut -d 'Make the result of a layer an input, such as the embeddings of tokens that are looked up elsewhere' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -s i -l input -d 'Fill an input from a file; inputs without a file get random numbers between -1 and 1' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l seed -d 'Seed of the random numbers' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand compare" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand compare" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand compare" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand compare" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand compare" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand info" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand info" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand info" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand info" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand info" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand info" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand decode" -l json -d 'Print JSON for another program to read; it has everything that the other options show'
complete -c ane -n "__fish_ane_using_subcommand decode" -l explain -d 'Say what each register and field does, how well that is established, and its source'
complete -c ane -n "__fish_ane_using_subcommand decode" -l all -d 'Print fields that are zero, too'
complete -c ane -n "__fish_ane_using_subcommand decode" -l changes -d 'After the first task, print only the registers that changed'
complete -c ane -n "__fish_ane_using_subcommand decode" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand decode" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand diff" -l ulps -d 'Largest difference of two finite elements that is accepted, in units of the last place' -r
complete -c ane -n "__fish_ane_using_subcommand diff" -l tolerance -d 'Largest difference of two finite elements that is accepted' -r
complete -c ane -n "__fish_ane_using_subcommand diff" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand diff" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -s o -l output -d 'Append the lines to this file' -r -F
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -l shard -d 'Run one part only: I of N, from 1. A case belongs to the same part on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -l jobs -d 'Cases that run at once [default: one for each processor]' -r
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -l seconds -d 'Seconds that any case may take, whatever the manifest says' -r
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -l mebibytes -d 'Mebibytes of memory that any case may take, whatever the manifest says' -r
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -l list -d 'Print the cases, and run none'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -s q -l quiet -d 'Show no progress'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -l worker -d 'Run cases that come in as lines; `ane campaign` starts its workers so'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -a "report" -d 'Merge result files, and report which results are right'
complete -c ane -n "__fish_ane_using_subcommand campaign; and not __fish_seen_subcommand_from report help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from report" -l junit -d 'Also write the cases as JUnit XML; a file that exists is replaced' -r -F
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from report" -l html -d 'Also write the report as an HTML page; a file that exists is replaced' -r -F
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from report" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from report" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from help" -f -a "report" -d 'Merge result files, and report which results are right'
complete -c ane -n "__fish_ane_using_subcommand campaign; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ane -n "__fish_ane_using_subcommand convert" -l force -d 'Overwrite a file that exists'
complete -c ane -n "__fish_ane_using_subcommand convert" -l short-header -d 'Write a header of 0x800 bytes, as the first libane reads it, instead of 0x1000'
complete -c ane -n "__fish_ane_using_subcommand convert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand convert" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand patch" -l task -d 'The task that --set is about, from 0' -r
complete -c ane -n "__fish_ane_using_subcommand patch" -l set -d 'Set a register, or a field of one; may be given several times' -r
complete -c ane -n "__fish_ane_using_subcommand patch" -l coefficients -d 'Replace the constants by the bytes of a file' -r -F
complete -c ane -n "__fish_ane_using_subcommand patch" -s o -l output -d 'Where to write it' -r -F
complete -c ane -n "__fish_ane_using_subcommand patch" -l force -d 'Overwrite a file that exists'
complete -c ane -n "__fish_ane_using_subcommand patch" -l json -d 'Print the difference as JSON'
complete -c ane -n "__fish_ane_using_subcommand patch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand patch" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand report" -s o -l output -d 'Where to write the page' -r -F
complete -c ane -n "__fish_ane_using_subcommand report" -l chip -d 'The chip whose time and memory are shown: t8103 (M1), t6000, t6001, t6002 or t8112' -r
complete -c ane -n "__fish_ane_using_subcommand report" -l force -d 'Overwrite a file that exists'
complete -c ane -n "__fish_ane_using_subcommand report" -l run -d 'Run each program once in this process with inputs of zeros, and show the task at which a fault ends it'
complete -c ane -n "__fish_ane_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand report" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand exec" -l root -d 'Make the names in the empty folder DIR by which tools look for the driver of a real engine, for as long as CMD runs: device tree, links of sysfs, node. Only you may write to DIR. Tools that check a machine take the folder with --root' -r -F
complete -c ane -n "__fish_ane_using_subcommand exec" -l timeout -d 'End CMD if it has not ended after this long: with SIGTERM, two seconds later with SIGKILL; then end every process that it started; exit code 124' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand exec" -s q -l quiet -d 'Do not say why a request of CMD failed'
complete -c ane -n "__fish_ane_using_subcommand exec" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand exec" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand exec" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand exec" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand daemon" -s s -l socket-path -d 'Where to listen [default: $XDG_RUNTIME_DIR/ane/aned.sock, as root /run/ane/aned.sock]' -r -F
complete -c ane -n "__fish_ane_using_subcommand daemon" -l poll-us -d 'After a message, poll this long for the next one before sleeping: answers come faster, and the processor is busy' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l request-limit -d 'End any request that the device works on for longer than this, with ETIME [default: no limit]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l request-tasks -d 'Refuse a request of more tasks than this, with E2BIG [default: no limit]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l user-limit -d 'Give a user the engine for this long in each minute; requests beyond wait for the next [default: no limit]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l user-tasks -d 'While this many tasks of a user wait or run, keep the next request waiting, or refuse it with EAGAIN if it does not wait [default: no limit]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand daemon" -l no-sandbox -d 'Do not confine the daemon. By default, before it serves a client, it gives up all files but its socket, and all system calls that serving does not need; such a call then ends it'
complete -c ane -n "__fish_ane_using_subcommand daemon" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand daemon" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand daemon" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand daemon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand daemon" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand mover" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand mover" -l json -d 'Print the results as JSON'
complete -c ane -n "__fish_ane_using_subcommand mover" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand mover" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand mover" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand mover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand mover" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -f -a "run" -d 'Start the device and then QEMU, and stay until QEMU ends'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -f -a "recover" -d 'Unplug a device that died, and plug in the new one'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -f -a "check" -d 'Check whether a running machine can have the device: its memory has to be shared'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -f -a "setup" -d 'In a guest: give the function to VFIO, and reserve huge pages'
complete -c ane -n "__fish_ane_using_subcommand vm; and not __fish_seen_subcommand_from run recover check setup help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l machine -d 'Purpose of the machine; docs/kernel-drivers.md describes apple-like' -r -f -a "virtio\t'The virtio device, which a program in the guest drives'
apple-like\t'The engine, three DARTs and power domains as an M1 has them, for kernel drivers: aarch64, pages of 16 KB'"
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l module -d 'A kernel module that the guest loads; may be given several times. The order is kept, but for those that others need' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l arch -d 'The machine\'s processor; that of apple-like is aarch64' -r -f -a "x86_64\t'QEMU\'s q35'
aarch64\t'QEMU\'s virt: only with --dry-run, since nobody has run it with this device'"
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l accel -d 'Runs the guest\'s code; by default KVM if there is one' -r -f -a "kvm\t'The processor itself'
tcg\t'QEMU: everywhere, and slowly'"
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l memory -d 'The machine\'s memory, in MiB; otherwise 1024, or 8704 for apple-like: today\'s driver looks for power words at the M1\'s own address, 0x2_3b70_c000, and there has to be memory. Memory that the guest does not touch takes no room' -r
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l cpus -d 'The machine\'s processors' -r
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l kernel -d 'A kernel to boot; without one, and without arguments for QEMU, the one that tools/guest/fetch fetched' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l initrd -d 'Its initial root file system; without a kernel of your own, the one that tools/guest/image made. With arguments for QEMU this and --append take a --kernel' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l append -d 'The kernel\'s command line; otherwise console=ttyS0 quiet no_timer_check hugepages=64 (an emulated timer may be late on a busy host), or on aarch64 console=ttyAMA0 quiet' -r
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l qemu -d 'The QEMU to run; otherwise the one that ANE_QEMU names, or that is on the path' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l device-program -d 'The device\'s program; otherwise the one beside this program, or that is on the path' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l device-arg -d 'An argument for the device\'s program, as --device-arg=--check; may be given again' -r
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l folder -d 'A folder for the sockets; by default a new one' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l dry-run -d 'Print the commands, and run nothing'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -l no-iommu -d 'Give the machine no IOMMU, for a guest whose own kernel drives the device; not with apple-like, which has none'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from recover" -l socket -d 'The device\'s socket; otherwise ane.sock beside the monitor' -r -F
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from recover" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from check" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from setup" -l pages -d 'Huge pages of 2 MiB to reserve: 8 for the driver, the others for buffers' -r
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from setup" -s h -l help -d 'Print help'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from setup" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from help" -f -a "run" -d 'Start the device and then QEMU, and stay until QEMU ends'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from help" -f -a "recover" -d 'Unplug a device that died, and plug in the new one'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check whether a running machine can have the device: its memory has to be shared'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from help" -f -a "setup" -d 'In a guest: give the function to VFIO, and reserve huge pages'
complete -c ane -n "__fish_ane_using_subcommand vm; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ane -n "__fish_ane_using_subcommand dart" -l control -d 'Ask a device at its control socket (vhost-device-ane --control); it does not know which process has which context. Without MODEL, --device and its options do not go with it' -r -F
complete -c ane -n "__fish_ane_using_subcommand dart" -l engine -d 'Engine, such as ane2, if several are behind the control socket' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand dart" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand dart" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand dart" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand dart" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand dart" -l windows -d 'Show every window, even if all of them agree'
complete -c ane -n "__fish_ane_using_subcommand dart" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand dart" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand regs" -l control -d 'Ask a device at its control socket (vhost-device-ane --control); it does not know which process has which context. Without MODEL, --device and its options do not go with it' -r -F
complete -c ane -n "__fish_ane_using_subcommand regs" -l engine -d 'Engine, such as ane2, if several are behind the control socket' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l range -d 'Show only ranges whose name contains this' -r
complete -c ane -n "__fish_ane_using_subcommand regs" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand regs" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand regs" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand regs" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand regs" -l all -d 'Also show registers that hold their reset value'
complete -c ane -n "__fish_ane_using_subcommand regs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand regs" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand faults" -l control -d 'Ask a device at its control socket (vhost-device-ane --control); it does not know which process has which context. Without MODEL, --device and its options do not go with it' -r -F
complete -c ane -n "__fish_ane_using_subcommand faults" -l engine -d 'Engine, such as ane2, if several are behind the control socket' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand faults" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand faults" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand faults" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand faults" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand faults" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand faults" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand trace" -l control -d 'Ask a device at its control socket (vhost-device-ane --control); it does not know which process has which context. Without MODEL, --device and its options do not go with it' -r -F
complete -c ane -n "__fish_ane_using_subcommand trace" -l engine -d 'Engine, such as ane2, if several are behind the control socket' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand trace" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand trace" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand trace" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand trace" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand trace" -l on -d 'Start recording the events of a running device'
complete -c ane -n "__fish_ane_using_subcommand trace" -l off -d 'Stop recording, and delete the recorded events'
complete -c ane -n "__fish_ane_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand trace" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand explain" -l control -d 'Ask a device at its control socket (vhost-device-ane --control); it does not know which process has which context. Without MODEL, --device and its options do not go with it' -r -F
complete -c ane -n "__fish_ane_using_subcommand explain" -l engine -d 'Engine, such as ane2, if several are behind the control socket' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand explain" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand explain" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand explain" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand explain" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand explain" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand bench" -l seconds -d 'How long to measure each figure' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l timeout -d 'Give up a run that takes longer than this: exit code 4' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l device -d 'The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The options below are for an embedded device' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l chip -d 'The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: with its registers and map, but programs are read as those of the H13)' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l instance -d 'Engine of the chip, from 0 [default: 0, or all where there is room for each]' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l pte-format -d 'Layout of page-table entries: seed (bit 63 is valid, as in entries of Apple\'s kernel), t8020 or t6000 (bit 0 is valid, as in entries of Linux: a Linux DART driver needs one of these) [default: seed, or t8020 as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l fault-policy -d 'Effect of a DART fault: contain (report it), panic (stop until reset, as an M1 does), stall (hold the transfer until its stream is invalidated, then try it again) or absorb (unmapped memory reads as zeros, writes are dropped, and the request goes on) [default: contain, or stall as a platform device]' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l hang -d 'End of a task that would hang a real engine: deadline (its queue is aborted after two seconds) or report (it fails at once)' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l numerics -d 'How the multiply-accumulate array computes: m1 (as the silicon does) or exact (double precision, to compare with). Each gives the same bytes on every machine' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l threads -d 'Threads that a large pass may use; 0 is one for each processor. The results do not depend on it' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l mover-profile -d 'Description that the mover follows: seed (the default) or isa (Tenstorrent\'s instruction-set pages)' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l mover -d 'Variants of the mover, separated by commas: contended (other blocks use the ports of its memory, so transfers take longer), wait-for-credit (a command without credit waits, which Tenstorrent\'s silicon should do and does not; without this word it is refused), wormhole (parameters lie where Tenstorrent\'s earlier chip has them)' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l pe-mmu -d 'Put a PE_MMU before the DART. Addresses outside of its regions pass unchanged. Its page is 2 MiB and a translation takes no time, unless ATTRIBUTES say otherwise, such as page=0x1000,overhead-ns=5,fabric-ns=40' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l inject -d 'Inject a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, lost-interrupt, stuck-queue, ignored-abort, corrupted-completion (these four may have :N, how many or which queue), or wedge, which only a reset or a power cycle ends. May be given several times; of one kind the last one counts' -r
complete -c ane -n "__fish_ane_using_subcommand bench" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand bench" -l check -d 'Report programming mistakes that silicon lets pass'
complete -c ane -n "__fish_ane_using_subcommand bench" -l strict -d 'Refuse accesses to unknown registers instead of logging them, and refuse tasks that need behaviour which is inferred and not established (docs/coverage.md lists it)'
complete -c ane -n "__fish_ane_using_subcommand bench" -l no-timing -d 'Do not model how long tasks take on the chip: no virtual time in counters, completions and traces'
complete -c ane -n "__fish_ane_using_subcommand bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand bench" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand doctor" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand sram" -l chip -d 'The chip: t8103 (M1), t6000, t6001, t6002 or t8112' -r
complete -c ane -n "__fish_ane_using_subcommand sram" -l target -d 'A target of the compiler instead of a chip, such as m9, h15, h16 or h17s. It may be a chip that has no device here; numbers that are not known for it are those of the M1' -r
complete -c ane -n "__fish_ane_using_subcommand sram" -l svg -d 'Also draw how much each bank is used, as an SVG picture' -r -F
complete -c ane -n "__fish_ane_using_subcommand sram" -l json -d 'Print JSON for another program to read'
complete -c ane -n "__fish_ane_using_subcommand sram" -l force -d 'Overwrite a picture that exists'
complete -c ane -n "__fish_ane_using_subcommand sram" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ane -n "__fish_ane_using_subcommand sram" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ane -n "__fish_ane_using_subcommand completions" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand man" -s o -l output -d 'Write every page to this folder, which is created if it does not exist' -r -F
complete -c ane -n "__fish_ane_using_subcommand man" -l force -d 'Overwrite pages that exist'
complete -c ane -n "__fish_ane_using_subcommand man" -s h -l help -d 'Print help'
complete -c ane -n "__fish_ane_using_subcommand man" -s V -l version -d 'Print version'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "run" -d 'Run a program on the engine'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "demo" -d 'Build a small network, run it on the engine, and check what comes out'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "build" -d 'Build a program from a description'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "compile" -d 'Compile a model to a program'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "compare" -d 'Compare a model on the engine with double precision, layer by layer'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "info" -d 'Describe a program, or a device'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "decode" -d 'Print a compiled program, word by word'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "diff" -d 'Compare two programs, two timelines, two arrays, or two folders of outputs'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "campaign" -d 'Run many programs in many modes, and report which results are right'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "convert" -d 'Repackage a .hwx program as .anec'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "patch" -d 'Change registers or constants of a program'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "report" -d 'Show a program, or two side by side, as a page for a browser'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "exec" -d 'Run an unmodified program that uses /dev/accel/accel0 on a virtual engine'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "daemon" -d 'Serve an embedded device to other processes'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "mover" -d 'Run a transfer script on the mover'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "vm" -d 'Run a virtual machine that has the device, and set up the guest in it'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "dart" -d 'Show what each context has mapped, and where'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "regs" -d 'Show the registers and their values'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "faults" -d 'Show the faults of a run, or the last of a device'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "trace" -d 'Show the engine\'s timeline'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "explain" -d 'Say what an address is, in each of the four address spaces'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "bench" -d 'Measure the cost of using the engine on this machine'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "doctor" -d 'Check each layer, with advice for each one that is missing'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "sram" -d 'Show what a program does with the chip\'s memory, and how long it would take there'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "completions" -d 'Print completions for a shell'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "man" -d 'Print a manual page, or write all of them to a folder'
complete -c ane -n "__fish_ane_using_subcommand help; and not __fish_seen_subcommand_from run demo build compile compare info decode diff campaign convert patch report exec daemon mover vm dart regs faults trace explain bench doctor sram completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ane -n "__fish_ane_using_subcommand help; and __fish_seen_subcommand_from campaign" -f -a "report" -d 'Merge result files, and report which results are right'
complete -c ane -n "__fish_ane_using_subcommand help; and __fish_seen_subcommand_from vm" -f -a "run" -d 'Start the device and then QEMU, and stay until QEMU ends'
complete -c ane -n "__fish_ane_using_subcommand help; and __fish_seen_subcommand_from vm" -f -a "recover" -d 'Unplug a device that died, and plug in the new one'
complete -c ane -n "__fish_ane_using_subcommand help; and __fish_seen_subcommand_from vm" -f -a "check" -d 'Check whether a running machine can have the device: its memory has to be shared'
complete -c ane -n "__fish_ane_using_subcommand help; and __fish_seen_subcommand_from vm" -f -a "setup" -d 'In a guest: give the function to VFIO, and reserve huge pages'
