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
  /** Whether Unix sockets are allowed, for the egress proxy. Socket pairs always are. */
  readonly unixSockets: boolean
  /** Whether memory outside of processes is allowed: only if the kernel limits it. */
  readonly hiddenMemory: boolean
}

/** @throws Error for an unsupported architecture. */
export function sandboxFilter(options: FilterOptions): Buffer {
  const machine = MACHINES[options.arch]
  if (machine === undefined) throw new Error(`There is no filter of system calls for ${options.arch}.`)
  const { clone, ioctl, socket, socketpair, refused, hiddenMemory } = machine
  const internet = [AF_INET, AF_INET6]
  return assemble([
    ...foreignCalls(machine),
    ...when(CLONE3, [unknown]), // its flags are behind a pointer, which a filter cannot read
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

/** One instruction; `ifTrue` and `ifFalse` are numbers of instructions to skip. */
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

// Offsets in `struct seccomp_data`; of arguments, the lower half, which is the one that both kernels use here.
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
/** The error of a kernel without the call: programs then use the older call, which the filter can check. */
const ENOSYS = ERROR | 38

/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACES = 0x7e020000
/** Injects input into a terminal. */
const TIOCSTI = 0x5412
/** Pastes into a console. */
const TIOCLINUX = 0x541c
/** S_ISUID and S_ISGID, and the bit that only the types of devices (S_IFCHR, S_IFBLK) have. */
const SET_ID = 0o6000
const DEVICE = 0o020000
/** O_CREAT and the bit of O_TMPFILE: without either, the mode argument is undefined. */
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

/** @param body Always returns, so that the accumulator still has the call's number after it. */
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

/** Prevents set-id bits and devices, which could pass on the user's rights after the command. */
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

/** Socket buffers keep the size that the resource monitor assumes; programs only set it as a hint. */
function bufferSizes({ setsockopt }: Machine): Instruction[] {
  const sizes = [SO_SNDBUF, SO_RCVBUF].flatMap((option) => when(option, [pretend]))
  const forced = [SO_SNDBUFFORCE, SO_RCVBUFFORCE].flatMap((option) => when(option, [refuse]))
  const ofSocket = [load(THIRD_ARGUMENT), ...sizes, ...forced, allow]
  return when(setsockopt, [load(SECOND_ARGUMENT), ...when(SOL_SOCKET, ofSocket), allow])
}

/** An array of `struct sock_filter`. Both architectures are little-endian. */
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

/** A call and the index of one of its arguments. */
type CallArgument = readonly [call: number, argument: number]

/** `arch` is the kernel's constant (`AUDIT_ARCH_*`): other architectures number calls differently. */
export interface Machine {
  readonly arch: number
  /** Bit of calls of the x32 ABI, which are the same calls with other numbers. */
  readonly x32Bit?: number
  readonly clone: number
  readonly ioctl: number
  readonly socket: number
  readonly socketpair: number
  readonly setsockopt: number
  /** Calls that set a file's mode, and its argument: `chmod`, `mknod`, `creat` and their variants. */
  readonly modes: readonly CallArgument[]
  /** `open` and `openat`, with the argument of the flags; the mode is the next one. */
  readonly opens: readonly CallArgument[]
  readonly refused: readonly number[]
  /** Calls that allocate memory outside of processes: `memfd_create`, `memfd_secret`, `shmget`. */
  readonly hiddenMemory: readonly number[]
}

/** Later calls are unknown to this filter. */
const LAST_KNOWN_CALL = 467
const CLONE3 = 435
/** Its flags and mode are behind a pointer. */
const OPENAT2 = 437
const FCHMODAT2 = 452

const REFUSED_EVERYWHERE = [
  425, // io_uring_setup: filters do not see its operations
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

/** Refused calls by name, with their number on x86-64 and, where it has them, on arm64. */
const REFUSED: readonly (readonly [name: string, x64: number, arm64?: number])[] = [
  ['ptrace', 101, 117],
  ['syslog', 103, 116],
  ['uselib', 134],
  ['sysfs', 139],
  ['vhangup', 153, 58],
  ['modify_ldt', 154],
  ['pivot_root', 155, 41],
  ['_sysctl', 156],
  ['adjtimex', 159, 171],
  ['chroot', 161, 51],
  ['acct', 163, 89],
  ['settimeofday', 164, 170],
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['reboot', 169, 142],
  ['sethostname', 170, 161],
  ['setdomainname', 171, 162],
  ['iopl', 172],
  ['ioperm', 173],
  ['create_module', 174],
  ['init_module', 175, 105],
  ['delete_module', 176, 106],
  ['get_kernel_syms', 177],
  ['query_module', 178],
  ['quotactl', 179, 60],
  ['nfsservctl', 180, 42],
  ['lookup_dcookie', 212, 18],
  ['clock_settime', 227, 112],
  ['kexec_load', 246, 104],
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['keyctl', 250, 219],
  ['unshare', 272, 97],
  ['perf_event_open', 298, 241],
  ['fanotify_init', 300, 262],
  ['fanotify_mark', 301, 263],
  ['name_to_handle_at', 303, 264],
  ['open_by_handle_at', 304, 265],
  ['clock_adjtime', 305, 266],
  ['setns', 308, 268],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['kcmp', 312, 272],
  ['finit_module', 313, 273],
  ['kexec_file_load', 320, 294],
  ['bpf', 321, 280],
  ['userfaultfd', 323, 282],
]

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
    refused: [...REFUSED.map(([, x64]) => x64), ...REFUSED_EVERYWHERE],
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
    refused: [...REFUSED.flatMap(([, , arm64]) => arm64 ?? []), ...REFUSED_EVERYWHERE],
    hiddenMemory: [279, MEMFD_SECRET, 194],
  },
}
