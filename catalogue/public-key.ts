/**
 * Ed25519 key, 32 bytes in base64, of the publisher whose catalogues a release accepts by itself. The release workflow pins
 * it (`scripts/pin-catalogue-key.ts`). Undefined, as in a clone: an operator names a publisher (`catalogue.public_key`,
 * `--public-key`).
 */
export const PUBLIC_KEY: string | undefined = undefined
