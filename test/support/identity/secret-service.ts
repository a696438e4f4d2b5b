/** A Secret Service as desktops have it: GNOME's keyring on a message bus of its own, with nothing in it. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findTool } from '../../../scripts/kit/machine-tools.ts'

export interface SecretService {
  /** What programs need to find it. */
  readonly env: Readonly<Record<string, string>>
  /** Where it writes, encrypted. */
  readonly folder: string
  readonly stop: () => Promise<void>
}

export async function startSecretService(): Promise<SecretService> {
  const [busProgram, keyringProgram] = [findTool('messageBus'), findTool('keyring')]
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-keyring-'))
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_RUNTIME_DIR: folder }
  const bus = spawn(busProgram, ['--session', '--nofork', '--print-address'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const gone = new Promise<void>((resolve) => bus.once('exit', () => resolve()))
  const address = await new Promise<string>((resolve, reject) => {
    bus.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()))
    bus.once('error', reject)
  })
  const env = { DBUS_SESSION_BUS_ADDRESS: address }
  // it comes back when it is ready, and ends with its bus
  execFileSync(keyringProgram, ['--unlock', '--components=secrets'], {
    input: 'a password',
    env: { PATH: process.env['PATH'] ?? '', ...home, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return {
    env,
    folder,
    async stop() {
      bus.kill()
      await gone
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
