/**
 * The seccomp filter of agents' commands: a classic BPF program, as bytes for `bwrap --seccomp`. It is asked at every
 * system call, and leaves a command what programs need: files, processes, threads, pipes, internet sockets. Pure.
 */
import { CLONE3, LAST_KNOWN_CALL, MACHINES, type Machine } from './syscalls.ts'

export interface FilterOptions {
  /** As in `process.arch`. */
  readonly arch: string
  /** Sockets of the file system, which lead to the egress proxy. Pairs of connected ones are always there. */
  readonly unixSockets: boolean
  /** Memory outside of any process, for where the kernel counts it. */
  readonly hiddenMemory: boolean
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

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const ERROR = 0x00050000
const EPERM = ERROR | 1
/** What a kernel without the call would say: programs then take the older way, which can be looked at. */
const ENOSYS = ERROR | 38

/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACES = 0x7e020000
/** Puts characters into a terminal as if its user had typed them. */
const TIOCSTI = 0x5412
/** Pastes into a console. */
const TIOCLINUX = 0x541c
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10

const allow: Instruction = { code: RETURN, k: ALLOW }
const refuse: Instruction = { code: RETURN, k: EPERM }
const unknown: Instruction = { code: RETURN, k: ENOSYS }
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
    ...(options.hiddenMemory ? [] : hiddenMemory.flatMap((call) => when(call, [unknown]))),
    ...refused.flatMap((call) => when(call, [refuse])),
    allow,
  ])
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
