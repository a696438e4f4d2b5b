/** Runs the steps of a byte script on a socket. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { unreadOn } from '../../support/process/sockets-of-machine.ts'
import type { Framing, Script, Step } from './byte-script.ts'

/** What a script works on, and what is noted of it. */
export interface ScriptedSocket {
  readonly socket: Socket
  /** Aborted when the other side has ended the connection, in whatever way. */
  readonly gone: AbortSignal
  /** Resolves when a whole request has come; false when none will. */
  readonly awaitRequest: () => Promise<boolean>
  readonly onBill: (tokens: number, promptTokens: number | undefined) => void
  readonly onSent: (bytes: number) => void
}

/** @returns whether the connection may serve another request: false once it is over. */
export async function runScript(target: ScriptedSocket, script: Script): Promise<boolean> {
  return runSteps({ ...target, framing: 'close', sizes: [], atSize: 0 }, script)
}

interface Running extends ScriptedSocket {
  framing: Framing
  sizes: readonly number[]
  atSize: number
}

async function runSteps(running: Running, script: Script): Promise<boolean> {
  for (const step of script) if (!(await runStep(running, step))) return false
  return !running.socket.destroyed
}

/** @returns false when nothing more can follow. */
async function runStep(running: Running, step: Step): Promise<boolean> {
  const { socket, gone } = running
  switch (step.do) {
    case 'send':
      return write(running, step.bytes)
    case 'head':
      return write(running, headText(running, step))
    case 'body':
      return write(running, inFraming(running.framing, step.bytes))
    case 'end':
      return endBody(running)
    case 'bill':
      running.onBill(step.tokens, step.promptTokens)
      return true
    case 'delay':
      return pause(step.ms, gone)
    case 'split':
      running.sizes = step.sizes
      running.atSize = 0
      return true
    case 'stall':
      return pause(undefined, gone)
    case 'fin':
      socket.end()
      return false
    case 'rst':
      socket.resetAndDestroy()
      return false
    case 'stop-reading':
      socket.pause()
      return true
    case 'await-read':
      return allRead(running)
    case 'await-request':
      return running.awaitRequest()
    case 'repeat':
      for (let time = 0; time < step.times; time++) if (!(await runSteps(running, step.steps))) return false
      return true
  }
}

function headText(running: Running, { status, headers, framing }: Extract<Step, { do: 'head' }>): string {
  running.framing = framing
  const told =
    framing === 'chunked'
      ? { 'transfer-encoding': 'chunked' }
      : framing === 'close'
        ? { connection: 'close' }
        : { 'content-length': String(framing) }
  const lines = Object.entries({ ...headers, ...told }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`
}

function inFraming(framing: Framing, bytes: string | Uint8Array): string | Uint8Array {
  if (framing !== 'chunked') return bytes
  const size = `${Buffer.byteLength(bytes).toString(16)}\r\n`
  if (typeof bytes === 'string') return `${size}${bytes}\r\n`
  return Buffer.concat([Buffer.from(size), bytes, Buffer.from('\r\n')])
}

async function endBody(running: Running): Promise<boolean> {
  if (running.framing === 'chunked') return write(running, '0\r\n\r\n')
  if (running.framing !== 'close') return true
  running.socket.end()
  return false
}

async function write(running: Running, bytes: string | Uint8Array): Promise<boolean> {
  if (running.sizes.length === 0) return writePiece(running, bytes)
  const all = Buffer.from(bytes)
  for (let at = 0; at < all.length; ) {
    const size = Math.max(1, running.sizes[running.atSize++ % running.sizes.length] ?? all.length)
    if (!(await writePiece(running, all.subarray(at, at + size)))) return false
    at += size
    await new Promise((resolve) => setImmediate(resolve)) // the reader's turn, or the kernel joins the pieces
  }
  return true
}

/** Waits while the other side does not read. */
async function writePiece({ socket, gone, onSent }: Running, bytes: string | Uint8Array): Promise<boolean> {
  if (gone.aborted || !socket.writable) return false
  onSent(Buffer.byteLength(bytes))
  if (socket.write(bytes)) return true
  return new Promise((resolve) => {
    const settle = (): void => {
      socket.off('drain', settle)
      gone.removeEventListener('abort', settle)
      resolve(!gone.aborted)
    }
    socket.on('drain', settle)
    gone.addEventListener('abort', settle)
  })
}

/** @returns false when the other side went away meanwhile. */
async function allRead({ socket, gone }: Running): Promise<boolean> {
  while (!gone.aborted && (await unreadOn(socket)) > 0) await sleep(5)
  return !gone.aborted
}

/** @param ms Undefined: for ever. @returns false when the other side went away meanwhile. */
function pause(ms: number | undefined, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const timer = ms === undefined ? undefined : setTimeout(settle, ms)
    gone.addEventListener('abort', settle)
    function settle(): void {
      clearTimeout(timer)
      gone.removeEventListener('abort', settle)
      resolve(!gone.aborted)
    }
  })
}
