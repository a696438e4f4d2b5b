/**
 * `CATALOGUE_KEY=<PEM> node scripts/pin-catalogue-key.ts`: pins the public half of the publisher's key in
 * `catalogue/public-key.ts`, so that what is built next accepts catalogues signed with it. The release workflow runs it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publicKeyText } from '../src/features/stored-settings/published-catalogue.ts'

const DECLARATION = /^export const PUBLIC_KEY: string \| undefined =\s.*$/m

/** @param source Text of `catalogue/public-key.ts`. @param privateKey PEM. Throws where either is not what it should be. */
export function pinned(source: string, privateKey: string): string {
  if (!DECLARATION.test(source)) throw new Error('catalogue/public-key.ts does not declare PUBLIC_KEY as expected.')
  return source.replace(DECLARATION, `export const PUBLIC_KEY: string | undefined = '${publicKeyText(privateKey)}'`)
}

if (import.meta.main) {
  const { CATALOGUE_KEY: privateKey = '' } = process.env
  if (privateKey === '') {
    console.error('CATALOGUE_KEY is not set: make a key with `turnpike catalogue keygen`, as docs/releasing.md says.')
    process.exit(1)
  }
  const path = join(import.meta.dirname, '..', 'catalogue', 'public-key.ts')
  writeFileSync(path, pinned(readFileSync(path, 'utf8'), privateKey))
}
