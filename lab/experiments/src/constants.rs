//! The table of all constants: costs on simulated machines, and what papers leave open, each with its reason.
//!
//! Invariant: no constant depends on a policy.

/// A cost of simulated machines, with the reason for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name: paper and quantity.
    pub name: &'static str,
    /// Its value in `unit`, before anything is fitted.
    pub value: u64,
    /// The unit of the value, as tables print it.
    pub unit: &'static str,
    /// The reason for that value.
    pub reason: &'static str,
}

/// Writes the table: `paper.quantity = value unit: "reason";`.
macro_rules! constants {
    ($($paper:ident.$quantity:ident = $value:literal $unit:ident: $reason:literal;)*) => {
        /// The constants of all experiments.
        pub const CONSTANTS: &[Constant] = &[$(Constant {
            name: concat!(stringify!($paper), ".", stringify!($quantity)),
            value: $value,
            unit: stringify!($unit),
            reason: $reason,
        }),*];
    };
}

constants! {
    psx.event = 2_000 ns: "an event of a micro-kernel simulator of 2005-2013 on a 2.66 GHz Xeon: some \
        thousand cycles with its queue operations";
    psx.vehicle = 2_000 ns: "an event of a vehicle: as psx.event; ours, measured, takes 300 ns of a core of \
        a present Xeon (the whole evacuation with lights: 24.5 million events in 7.3 s of CPU time)";
    psx.reduce = 2_000 ns: "handling one message of a reduction in the federate";
    psx.send = 6_000 ns: "a small TCP message out of a paravirtual guest: system call, stack, front-end (an \
        estimate: tens of thousands of cycles a packet over all sides)";
    psx.receive = 6_000 ns: "the same on its way in, with the virtual interrupt";
    psx.backend = 4_000 ns: "grant operations, bridge and back-end in the privileged domain, per packet";
    psx.decision = 700 ns: "timer interrupt and scheduler of the hypervisor";
    psx.switch = 2_500 ns: "switch between VCPUs of different domains: page tables, TLB and first-level \
        cache go cold";
    psx.migration = 3_000 ns: "second-level cache goes cold besides";
    psx.page_write = 500 ns: "a system call that writes the shared page";
    psx.poll = 1_000_000 us: "how long a federate that waits polls before it blocks; a second or more is \
        without end: the paper does not say how federates wait";
    psx.rereads = 100 ticks: "until the page of a VCPU at max_time is read again: the paper calls max_time \
        temporary, and does not say for how long";
    psx.smt = 625 permille: "two hyper-threads of a Nehalem-class core together give about 1.25 of one alone";
    psx.dom0_vcpus = 24 VCPUs: "Xen's default for DOM0: one for each PCPU; back-ends are dealt to them";
    psx.fan_in = 2 federates: "from which a federate gets a reduction's messages on their way up: a binary \
        tree, in which none waits for many";
    psx.gvt_period = 256 events: "a federate takes part in the next reduction after so many events, or when \
        it has nothing to do";
    psx.ahead = 4 s: "how far optimistic federates run beyond GVT: twice the mean delay of a message; \
        further on, most of what is run is overtaken";
    psx.batch = 32 events: "between two looks at the network";
    psx.per_packet = 1 messages: "every event is a message of its own, sent at once";
    nsx.call = 2_000 ns: "an MPI call of 2010 on a 2.33 GHz Core 2, besides the packet: matching, a look at \
        the sockets";
    nsx.send = 7_000 ns: "a small TCP message out of a paravirtual guest: as many cycles as psx.send, at \
        2.33 GHz";
    nsx.receive = 7_000 ns: "the same on its way in: as many cycles as psx.receive";
    nsx.backend = 5_000 ns: "per packet in the privileged domain: as many cycles as psx.backend";
    nsx.decision = 1_000 ns: "timer interrupt and scheduler of the hypervisor";
    nsx.switch = 3_000 ns: "switch between VCPUs of different domains, with the cold cache after it";
    nsx.migration = 3_000 ns: "the shared second-level cache of a Core 2 keeps this small";
    nsx.dom0_gap = 4_000_000 ns: "the privileged domain has work of its own 250 times a second: timer ticks \
        of its kernel (HZ is 250), daemons";
    nsx.dom0_work = 50_000 ns: "how long that takes each time, on average: somewhat more than 1 % of a core \
        for an idle desktop";
    nsx.guest_gap = 4_000_000 ns: "the kernel of a guest with a second VCPU has work of its own 250 times a \
        second: its timer ticks (HZ is 250)";
    nsx.guest_work = 10_000 ns: "how long that takes each time, on average: a tick and what it finds to do in \
        an idle guest";
    cs.poll = 1_000_000 us: "how long a process of MPI that waits polls before it blocks; a second or more is \
        without end: the thesis does not say how its library waits";
    cs.turn = 500 us: "a turn of extra time under SEDF: that of Xen 4.1, EXTRA_QUANTUM";
    cs.pair = 101_900 ps: "CPU time of a pair of EP: co-scheduling thesis, table 4, alone; classes A to D \
        give 101,600 to 102,000";
    cs.point = 3_370_000 ps: "CPU time of a point of LU in an iteration: co-scheduling thesis, table 4, \
        class B alone, without what messages take";
    cs.send = 10_000 ns: "a small TCP message out of a paravirtual guest on a 2.5 GHz Core 2: 25,000 cycles \
        for system call, stack and front-end";
    cs.receive = 10_000 ns: "the same on its way in, with the virtual interrupt";
    cs.response = 3_000 ns: "virtual interrupt and clearing of the transmit ring in the front-end, which \
        asks for that event (xennet_tx_buf_gc of Linux 2.6.38)";
    cs.backend = 10_000 ns: "per packet in DOM0: grant operations, bridge, back-end";
    cs.nic = 5_000 ns: "driver and interrupt of the gigabit NIC, per packet";
    cs.byte = 1_000 ps: "a byte copied with a cold cache: 1 GB/s";
    cs.latency = 30_000 ns: "gigabit Ethernet with one switch, and the NICs' interrupt moderation";
    cs.decision = 700 ns: "timer interrupt and scheduler of the hypervisor";
    cs.switch = 3_000 ns: "switch between VCPUs of different domains: page tables, TLB and first-level cache \
        go cold";
    cs.examined = 1_000 ps: "one word of the shared page looked at: two or three cycles, and a line from the \
        second-level cache for every 8 to 16 words";
    artis.host = 2_000 ns: "a host moves and pings in a step: two events, of about half of psx.event each on \
        a CPU with a higher clock";
    artis.ping = 2_000 ns: "a ping is handled by who hears it: an event, as psx.event; the paper calls this \
        model computation intensive";
    artis.copy = 500 ns: "a small message put into shared memory or taken out, with its lock: some lines of \
        cache go from CPU to CPU over the front-side bus";
    artis.look = 1_000 ns: "a system call on a Pentium 4 that looks for messages, or begins to wait";
    artis.signal = 3_000 ns: "waking another thread: a system call, and its place in the run queue";
    artis.timed_wait = 2_000_000 ns: "the shortest timed wait of a 2.6 kernel, which has 1000 ticks a \
        second: to the tick after the next";
    artis.decision = 700 ns: "timer interrupt and scheduler: as psx.decision";
    artis.switch = 2_500 ns: "switch between threads, with a cold first-level cache after it: as psx.switch";
    artis.migration = 3_000 ns: "the other CPU's caches are cold: as psx.migration";
    artis.page_write = 500 ns: "as psx.page_write";
    artis.slice = 100_000_000 ns: "time slice of the O(1) scheduler of Linux 2.6";
    artis.tick = 1_000_000 ns: "1000 ticks a second in Linux 2.6";
    artis.smt = 600 permille: "two hyper-threads of a Pentium 4 together give about 1.2 of one alone (Bulpin \
        and Pratt, 2004); Intel states 1.3 at best";
    artis.send = 6_000 ns: "a small TCP message: system call, stack and driver, some 17,000 cycles of a 2.8 \
        GHz Pentium 4; without a hypervisor about half of cs.send";
    artis.receive = 6_000 ns: "the same on its way in";
    artis.nic = 2_000 ns: "driver and interrupt of a gigabit NIC, per packet: moderated interrupts come for \
        several";
    artis.byte = 1_000 ps: "a byte copied with a cold cache: as cs.byte";
    artis.latency = 30_000 ns: "a crossed gigabit cable, and the NICs' interrupt moderation: as cs.latency";
    artis.message_bytes = 64 bytes: "a ping: time stamp, sender, receiver, kind and place, with the header \
        of the runtime";
    artis.joined = 1 messages: "that the kernel joins in a packet without marshalling: each is sent at once";
    artis.marshal = 200 ns: "a message copied into a frame or out of it, in the cache: no lock";
    artis.frame_limit = 1_000_000 ns: "a message waits in a frame for a tick of the kernel at most; the \
        paper does not say how long";
    cluster.window_33 = 3_900 ns: "measured: a window with 33 events in a run of one process with one \
        thread; PHOLD with 2048 LPs of 16 messages each";
    cluster.window_324 = 23_200 ns: "the same with 324 events";
    cluster.window_2978 = 170_800 ns: "the same with 2,978 events";
    cluster.window_16394 = 818_700 ns: "the same with 16,394 events";
    cluster.crossing = 91 ns: "measured: an event encoded and decoded; CPU time of two processes that share \
        memory beyond that of one, windows of 16,394 events";
    cluster.saying = 600 ns: "measured: saying or hearing a contribution; what a window of 33 events takes \
        in two processes that share memory, less all else";
    cluster.frame = 430 ns: "measured: a small frame through shared memory while the receiver looks for it \
        (the crate transport's benchmark transport)";
    cluster.wake = 16_800 ns: "measured: the same while the receiver sleeps on an idle core, less \
        cluster.frame";
    cluster.spin = 10_000 ns: "the engine's 2000 looks before a thread sleeps";
    cluster.tls_frame = 8_300 ns: "measured: a small frame sent and received by TLS on loopback, where \
        frames follow each other (the benchmark tcp)";
    cluster.tls_wake = 22_100 ns: "measured: a small frame by TLS on loopback while the receiver sleeps, \
        less cluster.tls_frame";
    cluster.latency = 10_000 ns: "assumed: NICs, cables and switches between two hosts on Ethernet with 10 \
        or 25 Gb/s";
}
