/**
 * Ed25519 key, 32 bytes in base64, of the publisher whose catalogues this release accepts by itself. `turnpike catalogue
 * keygen` makes such a pair; operators may trust another publisher (`catalogue.public_key`).
 */
export const PUBLIC_KEY = 'o3lHni94tlWBiPAV24HsWvOGpyN2U17v/ez3cc7k1C0='
