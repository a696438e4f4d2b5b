/**
 * Where a link in text that a model or a stranger wrote may lead: another site, or a mail. Not to a script or a document
 * in the address, and not into this site, where a click would act for the person who is signed in.
 * @returns The address as a browser reads it; undefined where there is to be no link.
 */
export function safeLink(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, href } = new URL(address)
  return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? href : undefined
}
