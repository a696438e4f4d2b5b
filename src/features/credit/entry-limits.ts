/** What one row that is entered by hand may say, over HTTP and on the command line alike. */
export const MAX_ENTRY_USD = 100_000_000
export const MAX_NOTE_LENGTH = 500
