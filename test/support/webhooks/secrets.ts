/** A secret as Turnpike makes them, the same in every run. */
import { mintWebhookSecret } from '../../../src/domain/webhook-signature.ts'

export const SECRET = mintWebhookSecret((size) => Uint8Array.from({ length: size }, (_, index) => 255 - index))
