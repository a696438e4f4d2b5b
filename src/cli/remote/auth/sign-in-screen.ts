/** Output of `turnpike login`: the code and the result on standard output, everything else on standard error. */
import { styleText } from 'node:util'
import { renderUnicodeCompact } from 'uqr'
import type { DeviceGrant } from './oauth.ts'

export interface Screen {
  /** Shows the address and the code. */
  show(grant: DeviceGrant): void
  /** Shows the remaining time on a terminal, over the previous value. */
  countDown(leftMs: number): void
  endCountDown(): void
  /** Writes a line to standard error. */
  note(text: string): void
  /** Writes the result to standard output. */
  result(text: string): void
}

export interface Terminal {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

const CLEAR_LINE = '\r\u001b[2K'

export function createScreen({ stdout, stderr }: Terminal = process): Screen {
  let isCounting = false
  const clear = () => {
    if (isCounting) stderr.write(CLEAR_LINE)
    isCounting = false
  }
  return {
    show(grant) {
      stdout.write(stdout.isTTY ? invitation(grant, stdout) : plainInvitation(grant))
      stderr.write('Check that the page shows the same code and the permissions that you expect.\n')
    },
    countDown(leftMs) {
      if (!stderr.isTTY) return
      clear()
      isCounting = true
      stderr.write(
        styleText('dim', `Waiting for approval, ${clockText(leftMs)} left. Press Ctrl-C to stop.`, { stream: stderr }),
      )
    },
    endCountDown: clear,
    note(text) {
      clear()
      stderr.write(`${text}\n`)
    },
    result(text) {
      clear()
      stdout.write(`${text}\n`)
    },
  }
}

function plainInvitation({ page, userCode }: DeviceGrant): string {
  return `Open ${page} and enter the code ${userCode}\n`
}

function invitation(grant: DeviceGrant, stream: NodeJS.WriteStream): string {
  const code = `   ${[...grant.userCode].join(' ')}   `
  const line = '─'.repeat(code.length)
  const bold = styleText('bold', code, { stream })
  return [
    `\nOpen ${styleText('bold', grant.page, { stream })}`,
    'in a browser, on any device, and enter the code\n',
    `    ┌${line}┐`,
    `    │${bold}│`,
    `    └${line}┘\n`,
    picture(grant.completePage, stream),
  ].join('\n')
}

const QR_MARGIN = 4

/** Returns a QR code, dark on light in any colour scheme; '' if it does not fit. */
function picture(text: string, stream: NodeJS.WriteStream): string {
  const lines = renderUnicodeCompact(text, { ecc: 'L' }).split('\n')
  const fits = (lines[0]?.length ?? 0) + QR_MARGIN <= stream.columns && lines.length + QR_MARGIN <= stream.rows
  if (!fits) return ''
  return lines.map((line) => `    ${styleText(['whiteBright', 'bgBlack'], line, { stream })}\n`).join('')
}

/** `14:59` */
export function clockText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
