/** The secret that clients send. `docs/keys.md` describes the format for scanners. */
import { secretForm } from '../../domain/secret-text.ts'

export { secretHash } from '../../domain/secret-text.ts'

const form = secretForm('tp_')

export const SECRET_PATTERN = form.pattern
/** @param randomText Unpredictable base-62 text of the length asked for. */
export const mintSecret = form.mint
export const isWellFormed = form.isWellFormed
