/**
 * The seccomp filter of agents' commands: a classic BPF program, as bytes for `bwrap --seccomp`. The kernel runs it at every
 * system call; it allows what programs need: files, processes, threads, pipes, internet sockets. Pure.
 *
 * System calls are refused by the numbers of each architecture (Linux 6.18, `arch/x86/entry/syscalls/syscall_64.tbl` and
 * `scripts/syscall.tbl`). Numbers of 424 and above are the same on both.
 */
export interface FilterOptions {
  /** As in `process.arch`. */
  readonly arch: string
  /** Sockets of the file system, which lead to the egress proxy. Pairs of connected ones are always there. */
  readonly unixSockets: boolean
  /** Memory outside of any process, for where the kernel counts it. */
  readonly hiddenMemory: boolean
}

/** @throws Error for a machine whose numbers are not known. */
export function sandboxFilter(options: FilterOptions): Buffer {
  const machine = MACHINES[options.arch]
  if (machine === undefined) throw new Error(`There is no filter of system calls for ${options.arch}.`)
  const { clone, ioctl, socket, socketpair, refused, hiddenMemory } = machine
  const internet = [AF_INET, AF_INET6]
  return assemble([
    ...foreignCalls(machine),
    ...when(CLONE3, [unknown]), // its flags are behind a pointer, which a filter cannot follow
    ...when(clone, [load(FIRST_ARGUMENT), ...whenBits(NAMESPACES, [refuse]), allow]),
    ...when(ioctl, [load(SECOND_ARGUMENT), ...when(TIOCSTI, [refuse]), ...when(TIOCLINUX, [refuse]), allow]),
    ...when(socket, families(options.unixSockets ? [...internet, AF_UNIX] : internet)),
    ...when(socketpair, families([AF_UNIX])),
    ...modes(machine),
    ...bufferSizes(machine),
    ...(options.hiddenMemory ? [] : hiddenMemory.flatMap((call) => when(call, [unknown]))),
    ...refused.flatMap((call) => when(call, [refuse])),
    allow,
  ])
}

/** One instruction; `ifTrue` and `ifFalse` say how many of the following ones are passed over. */
interface Instruction {
  readonly code: number
  readonly k: number
  readonly ifTrue?: number
  readonly ifFalse?: number
}

const INSTRUCTION_BYTES = 8
const LOAD = 0x20
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_GREATER = 0x25
const JUMP_IF_BITS = 0x45
const RETURN = 0x06

// Offsets in `struct seccomp_data`; of an argument, the half that both kernels look at for what is asked here.
const CALL = 0
const ARCH = 4
const FIRST_ARGUMENT = 16
const SECOND_ARGUMENT = 24
const THIRD_ARGUMENT = 32
const ARGUMENT_BYTES = 8

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const ERROR = 0x00050000
const EPERM = ERROR | 1
/** The call returns success and does nothing. */
const SUCCESS = ERROR
/** What a kernel without the call would say: programs then take the older way, which can be looked at. */
const ENOSYS = ERROR | 38

/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACES = 0x7e020000
/** Puts characters into a terminal as if its user had typed them. */
const TIOCSTI = 0x5412
/** Pastes into a console. */
const TIOCLINUX = 0x541c
/** S_ISUID and S_ISGID, and the bit that the types of both kinds of device (S_IFCHR, S_IFBLK) have, others not. */
const SET_ID = 0o6000
const DEVICE = 0o020000
/** O_CREAT and what O_TMPFILE adds: without either, the mode is whatever was in the register. */
const CREATES = 0x400040
const SOL_SOCKET = 1
const SO_SNDBUF = 7
const SO_RCVBUF = 8
const SO_SNDBUFFORCE = 32
const SO_RCVBUFFORCE = 33
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10

const allow: Instruction = { code: RETURN, k: ALLOW }
const refuse: Instruction = { code: RETURN, k: EPERM }
const unknown: Instruction = { code: RETURN, k: ENOSYS }
const pretend: Instruction = { code: RETURN, k: SUCCESS }
const kill: Instruction = { code: RETURN, k: KILL_PROCESS }

function load(offset: number): Instruction {
  return { code: LOAD, k: offset }
}

/** @param body Ends in a verdict whatever it finds, so that nothing after it sees another word loaded than the call. */
function when(value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: JUMP_IF_EQUAL, k: value, ifFalse: body.length }, ...body]
}

function whenBits(bits: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: JUMP_IF_BITS, k: bits, ifFalse: body.length }, ...body]
}

function foreignCalls({ arch, x32Bit }: Machine): Instruction[] {
  return [
    load(ARCH),
    { code: JUMP_IF_EQUAL, k: arch, ifTrue: 1 },
    kill,
    load(CALL),
    ...(x32Bit === undefined ? [] : whenBits(x32Bit, [kill])),
    { code: JUMP_IF_GREATER, k: LAST_KNOWN_CALL, ifFalse: 1 },
    unknown,
  ]
}

function families(allowed: readonly number[]): Instruction[] {
  return [load(FIRST_ARGUMENT), ...allowed.flatMap((family) => when(family, [allow])), refuse]
}

/** Nothing that could give its user's rights away outlives a command: no set-id bits, no devices. */
function modes({ modes: changes, opens }: Machine): Instruction[] {
  const argument = (index: number): Instruction => load(FIRST_ARGUMENT + index * ARGUMENT_BYTES)
  return [
    ...when(OPENAT2, [unknown]),
    ...changes.flatMap(([call, mode]) => when(call, [argument(mode), ...whenBits(SET_ID | DEVICE, [refuse]), allow])),
    ...opens.flatMap(([call, flags]) => {
      const created = [argument(flags + 1), ...whenBits(SET_ID, [refuse]), allow]
      return when(call, [argument(flags), ...whenBits(CREATES, created), allow])
    }),
  ]
}

/** Buffers of sockets stay at the size that the watch counts for each: programs ask for others as a hint. */
function bufferSizes({ setsockopt }: Machine): Instruction[] {
  const sizes = [SO_SNDBUF, SO_RCVBUF].flatMap((option) => when(option, [pretend]))
  const forced = [SO_SNDBUFFORCE, SO_RCVBUFFORCE].flatMap((option) => when(option, [refuse]))
  const ofSocket = [load(THIRD_ARGUMENT), ...sizes, ...forced, allow]
  return when(setsockopt, [load(SECOND_ARGUMENT), ...when(SOL_SOCKET, ofSocket), allow])
}

/** `struct sock_filter`, one after the other. Both machines are little-endian. */
function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES)
  program.forEach(({ code, k, ifTrue = 0, ifFalse = 0 }, index) => {
    const at = index * INSTRUCTION_BYTES
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(ifTrue, at + 2)
    bytes.writeUInt8(ifFalse, at + 3)
    bytes.writeUInt32LE(k >>> 0, at + 4)
  })
  return bytes
}

/** A call, and one of its arguments, counted from 0. */
type CallArgument = readonly [call: number, argument: number]

/** `arch` in the kernel's words (`AUDIT_ARCH_*`): of a call made in any other way, the numbers mean something else. */
export interface Machine {
  readonly arch: number
  /** Numbers with this bit are the x32 ABI's, whose calls are the same ones under other numbers. */
  readonly x32Bit?: number
  readonly clone: number
  readonly ioctl: number
  readonly socket: number
  readonly socketpair: number
  readonly setsockopt: number
  /** Calls that give a file its mode, and which argument it is: `chmod`, `mknod` and their like, `creat`. */
  readonly modes: readonly CallArgument[]
  /** `open`, `openat`, and which argument the flags are; the mode comes after them. */
  readonly opens: readonly CallArgument[]
  readonly refused: readonly number[]
  /** Memory that belongs to no process that could be counted: `memfd_create`, `memfd_secret`, `shmget`. */
  readonly hiddenMemory: readonly number[]
}

/** Above it are calls that nobody has looked at yet. */
const LAST_KNOWN_CALL = 467
const CLONE3 = 435
/** Its flags and mode are behind a pointer. */
const OPENAT2 = 437
const FCHMODAT2 = 452

const REFUSED_EVERYWHERE = [
  425, // io_uring_setup: its work passes by every filter
  426, // io_uring_enter
  427, // io_uring_register
  428, // open_tree
  429, // move_mount
  430, // fsopen
  431, // fsconfig
  432, // fsmount
  433, // fspick
  438, // pidfd_getfd
  440, // process_madvise
  442, // mount_setattr
  443, // quotactl_fd
  467, // open_tree_attr
] as const
const MEMFD_SECRET = 447

const X64_REFUSED = [
  101, // ptrace
  103, // syslog
  134, // uselib
  139, // sysfs
  153, // vhangup
  154, // modify_ldt
  155, // pivot_root
  156, // _sysctl
  159, // adjtimex
  161, // chroot
  163, // acct
  164, // settimeofday
  165, // mount
  166, // umount2
  167, // swapon
  168, // swapoff
  169, // reboot
  170, // sethostname
  171, // setdomainname
  172, // iopl
  173, // ioperm
  174, // create_module
  175, // init_module
  176, // delete_module
  177, // get_kernel_syms
  178, // query_module
  179, // quotactl
  180, // nfsservctl
  212, // lookup_dcookie
  227, // clock_settime
  246, // kexec_load
  248, // add_key
  249, // request_key
  250, // keyctl
  272, // unshare
  298, // perf_event_open
  300, // fanotify_init
  301, // fanotify_mark
  303, // name_to_handle_at
  304, // open_by_handle_at
  305, // clock_adjtime
  308, // setns
  310, // process_vm_readv
  311, // process_vm_writev
  312, // kcmp
  313, // finit_module
  320, // kexec_file_load
  321, // bpf
  323, // userfaultfd
] as const

const ARM64_REFUSED = [
  18, // lookup_dcookie
  39, // umount2
  40, // mount
  41, // pivot_root
  42, // nfsservctl
  51, // chroot
  58, // vhangup
  60, // quotactl
  89, // acct
  97, // unshare
  104, // kexec_load
  105, // init_module
  106, // delete_module
  112, // clock_settime
  116, // syslog
  117, // ptrace
  142, // reboot
  161, // sethostname
  162, // setdomainname
  170, // settimeofday
  171, // adjtimex
  217, // add_key
  218, // request_key
  219, // keyctl
  224, // swapon
  225, // swapoff
  241, // perf_event_open
  262, // fanotify_init
  263, // fanotify_mark
  264, // name_to_handle_at
  265, // open_by_handle_at
  266, // clock_adjtime
  268, // setns
  270, // process_vm_readv
  271, // process_vm_writev
  272, // kcmp
  273, // finit_module
  280, // bpf
  282, // userfaultfd
  294, // kexec_file_load
] as const

/** By `process.arch`. */
export const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    arch: 0xc000003e,
    x32Bit: 0x40000000,
    clone: 56,
    ioctl: 16,
    socket: 41,
    socketpair: 53,
    setsockopt: 54,
    modes: [
      [90, 1], // chmod
      [91, 1], // fchmod
      [268, 2], // fchmodat
      [FCHMODAT2, 2],
      [133, 1], // mknod
      [259, 2], // mknodat
      [85, 1], // creat
    ],
    opens: [
      [2, 1],
      [257, 2],
    ],
    refused: [...X64_REFUSED, ...REFUSED_EVERYWHERE],
    hiddenMemory: [319, MEMFD_SECRET, 29],
  },
  arm64: {
    arch: 0xc00000b7,
    clone: 220,
    ioctl: 29,
    socket: 198,
    socketpair: 199,
    setsockopt: 208,
    modes: [
      [52, 1], // fchmod
      [53, 2], // fchmodat
      [FCHMODAT2, 2],
      [33, 2], // mknodat
    ],
    opens: [[56, 2]],
    refused: [...ARM64_REFUSED, ...REFUSED_EVERYWHERE],
    hiddenMemory: [279, MEMFD_SECRET, 194],
  },
}
