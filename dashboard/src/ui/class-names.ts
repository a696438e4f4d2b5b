/** One class attribute of several parts; what is not there is left out. */
export function classNames(...parts: readonly (string | false | null | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== null && part !== false && part !== '').join(' ')
}

/** How lists look that open above the page: selects, comboboxes, menus. */
export const POPUP =
  'max-h-(--available-height) max-w-(--available-width) overflow-y-auto rounded-xl border border-line bg-surface p-1 shadow-popup outline-none'

export const OPTION =
  'flex min-h-8 w-full items-center gap-2 rounded-lg px-2 py-1 text-base text-ink outline-none select-none data-disabled:text-faint data-highlighted:bg-hover'
