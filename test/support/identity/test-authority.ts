/** A certificate authority of the test's own, made by `openssl`, and servers' certificates by it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ServerCertificate {
  readonly key: string
  readonly cert: string
}

export interface TestAuthority {
  /** What a client is to trust, PEM. */
  readonly ca: string
  /** @param subject As in a certificate's alternative names: `DNS:hooks.customer.com`, `IP:127.0.0.1`. */
  certify(subject: string): ServerCertificate
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** @param cleanUp Is given what removes the files. */
export function createTestAuthority(cleanUp: (remove: () => void) => void): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'))
  cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  const openssl = (...given: readonly string[]): void => {
    execFileSync('openssl', given, { cwd: folder, stdio: 'pipe', timeout: 60_000 })
  }
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  openssl('req', '-x509', ...KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Test authority')
  let serial = 0
  return {
    ca: read('ca.pem'),
    certify(subject) {
      serial++
      writeFileSync(join(folder, 'names.cnf'), `subjectAltName=${subject}\n`)
      openssl('req', ...KEY, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=Test server')
      const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', String(serial)]
      openssl('x509', '-req', '-in', 'server.csr', ...by, '-days', '2', '-extfile', 'names.cnf', '-out', 'server.pem')
      return { key: read('server.key'), cert: read('server.pem') }
    },
  }
}
