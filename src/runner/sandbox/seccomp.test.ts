import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FilterOptions, MACHINES, type Machine, sandboxFilter } from './seccomp.ts'

const ALLOW = 0x7fff0000
const EPERM = 0x50001
const ENOSYS = 0x50026
const KILL = 0x80000000

interface Call {
  readonly arch: number
  readonly call: number
  readonly args?: readonly number[]
}

/** What the kernel does with a filter, for the instructions there are. */
function judge(program: Buffer, { arch, call, args = [] }: Call): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call >>> 0, 0)
  data.writeUInt32LE(arch >>> 0, 4)
  args.forEach((value, index) => {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + index * 8)
  })
  let loaded = 0
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at)
    const k = program.readUInt32LE(at + 4)
    if (code === 0x06) return k
    if (code === 0x20) loaded = data.readUInt32LE(k)
    else {
      const holds = code === 0x15 ? loaded === k : code === 0x25 ? loaded > k : (loaded & k) !== 0
      assert.ok([0x15, 0x25, 0x45].includes(code))
      at += 8 * program.readUInt8(at + (holds ? 2 : 3))
    }
  }
  throw new Error('It ends without a verdict.')
}

const OPTIONS: Omit<FilterOptions, 'arch'> = { unixSockets: false, hiddenMemory: false }

for (const [arch, machine] of Object.entries(MACHINES)) {
  const verdict = (call: number, args: readonly number[] = [], options: Partial<FilterOptions> = {}): number =>
    judge(sandboxFilter({ ...OPTIONS, arch, ...options }), { arch: machine.arch, call, args })

  test(`SBX-3: on ${arch}, each call of the list is refused, and the usual ones are not`, () => {
    for (const call of machine.refused) assert.equal(verdict(call), EPERM, `call ${call}`)
    const usual =
      arch === 'x64' ? [0, 1, 2, 9, 57, 58, 59, 60, 202, 231, 257, 317, 334] : [56, 63, 64, 93, 98, 220, 221, 222, 277]
    for (const call of usual) assert.equal(verdict(call), ALLOW, `call ${call}`)
    assert.equal(new Set(machine.refused).size, machine.refused.length)
  })

  test(`SBX-3: on ${arch}, processes and threads are made, but no namespaces`, () => {
    const { clone } = machine
    assert.equal(verdict(clone, [0x01200011]), ALLOW) // fork
    assert.equal(verdict(clone, [0x003d0f00]), ALLOW) // pthread_create
    for (const bit of [17, 25, 26, 27, 28, 29, 30]) assert.equal(verdict(clone, [2 ** bit + 17]), EPERM, `bit ${bit}`)
    assert.equal(verdict(435), ENOSYS)
  })

  test(`SBX-3: on ${arch}, sockets are of the internet, and named ones only where there is a proxy`, () => {
    const { socket, socketpair } = machine
    assert.deepEqual([verdict(socket, [2]), verdict(socket, [10])], [ALLOW, ALLOW])
    for (const family of [0, 1, 3, 16, 17, 29, 38, 40, 44])
      assert.equal(verdict(socket, [family]), EPERM, `family ${family}`)
    assert.equal(verdict(socket, [1], { unixSockets: true }), ALLOW)
    assert.equal(verdict(socket, [16], { unixSockets: true }), EPERM)
    assert.deepEqual([verdict(socketpair, [1]), verdict(socketpair, [30])], [ALLOW, EPERM])
    // The kernel takes the lower half for the family.
    assert.equal(verdict(socket, [2 ** 32 + 16]), EPERM)
  })

  test(`SBX-3: on ${arch}, nothing is typed into terminals`, () => {
    const { ioctl } = machine
    assert.deepEqual([verdict(ioctl, [0, 0x5412]), verdict(ioctl, [0, 0x541c])], [EPERM, EPERM])
    assert.equal(verdict(ioctl, [0, 2 ** 32 + 0x5412]), EPERM)
    assert.equal(verdict(ioctl, [0, 0x5401]), ALLOW)
  })

  test(`SBX-3: on ${arch}, no file is given set-id bits, and no device is made`, () => {
    const withArgument = (call: number, index: number, value: number): number =>
      verdict(call, [...Array<number>(index).fill(0), value])
    for (const [call, mode] of machine.modes) {
      for (const bits of [0o4755, 0o2755, 0o6000, 0o020666, 0o060666, 2 ** 32 + 0o4000]) {
        assert.equal(withArgument(call, mode, bits), EPERM, `call ${call}, mode ${bits}`)
      }
      for (const bits of [0, 0o777, 0o1777, 0o100644, 0o010644, 0o140644]) {
        assert.equal(withArgument(call, mode, bits), ALLOW, `call ${call}, mode ${bits}`)
      }
    }
    for (const [call, flags] of machine.opens) {
      const open = (flag: number, mode: number): number => verdict(call, [...Array<number>(flags).fill(0), flag, mode])
      assert.deepEqual([open(0o101, 0o4755), open(0o20200002, 0o2600)], [EPERM, EPERM])
      assert.deepEqual([open(0o101, 0o644), open(0o20200002, 0o600), open(0, 0o7777)], [ALLOW, ALLOW, ALLOW])
    }
    assert.equal(verdict(437), ENOSYS)
  })

  test(`SBX-4: on ${arch}, buffers of sockets keep their size`, () => {
    const set = (level: number, option: number): number => verdict(machine.setsockopt, [3, level, option])
    assert.deepEqual([set(1, 7), set(1, 8)], [0x50000, 0x50000])
    assert.deepEqual([set(1, 32), set(1, 33)], [EPERM, EPERM])
    assert.deepEqual([set(1, 2), set(6, 7), set(6, 33), set(0, 8)], [ALLOW, ALLOW, ALLOW, ALLOW])
  })

  test(`SBX-3: on ${arch}, calls of another machine end the process, unknown ones do not exist`, () => {
    const program = sandboxFilter({ ...OPTIONS, arch })
    for (const other of [0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0]) {
      if (other !== machine.arch) assert.equal(judge(program, { arch: other, call: 0 }), KILL)
    }
    assert.equal(verdict(468), ENOSYS)
    assert.equal(verdict(0x40000000), machine.x32Bit === undefined ? ENOSYS : KILL)
    assert.equal(verdict(0xffffffff), machine.x32Bit === undefined ? ENOSYS : KILL)
  })

  test(`SBX-4: on ${arch}, memory without a process is available only where the kernel counts it`, () => {
    for (const call of machine.hiddenMemory) {
      assert.deepEqual([verdict(call), verdict(call, [], { hiddenMemory: true })], [ENOSYS, ALLOW])
    }
  })

  test(`on ${arch}, the program is one that the kernel takes`, () => {
    const program = sandboxFilter({ ...OPTIONS, arch })
    assert.ok(program.length % 8 === 0 && program.length / 8 <= 4096)
    assert.equal(program.readUInt16LE(program.length - 8), 0x06)
  })
}

test('there is no filter for a machine whose calls are not known', () => {
  assert.throws(() => sandboxFilter({ ...OPTIONS, arch: 'riscv64' }), /riscv64/)
  const machines: readonly Machine[] = Object.values(MACHINES)
  assert.equal(machines.length, 2)
})
