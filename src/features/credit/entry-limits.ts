/** What one row that is entered by hand may say, over HTTP and on the command line alike. */
export const MAX_ENTRY_USD = 100_000_000
export const MAX_NOTE_LENGTH = 500

/** What operators enter. All but `debit` add to the balance. */
export const ENTERED_KINDS = ['grant', 'purchase', 'refund', 'debit'] as const
export type EnteredKind = (typeof ENTERED_KINDS)[number]
