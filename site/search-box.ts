/** The search of VitePress with roles that screen readers understand: a dialog, a combobox, and a list of options. */

interface Replacement {
  readonly from: string
  readonly to: string
  /** How often the template has it; once by default. */
  readonly times?: number
}

const OPTION = `:id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"`

/** Of the template of VitePress 2; the build fails with another one. */
const REPLACEMENTS: readonly Replacement[] = [
  // A button cannot have a form in it.
  {
    from: `role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"
      aria-labelledby="localsearch-label"`,
    to: 'role="dialog" aria-modal="true" aria-label="Search the documentation"',
  },
  {
    from: 'aria-autocomplete="both"',
    to: `role="combobox" aria-autocomplete="list" :aria-expanded="results?.length ? 'true' : 'false'"`,
  },
  // An option cannot have a link in it: the link is the option, and its name is the text that is seen.
  { from: OPTION, to: 'role="none"' },
  { from: 'class="result"', to: `${OPTION} class="result"` },
  { from: `:aria-label="[...p.titles, p.title].join(' > ')"`, to: '' },
  { from: '<span class="title-icon">', to: '<span class="title-icon" aria-hidden="true">' },
  // Without a role a key has no name but its text, and these have none.
  { from: '<kbd :aria-label=', to: '<kbd role="img" :aria-label=', times: 4 },
]

/** A plugin of Vite. */
export function searchBoxRoles() {
  return {
    name: 'turnpike:search-box-roles',
    enforce: 'pre' as const,
    transform: (code: string, id: string): string | undefined =>
      id.endsWith('/VPLocalSearchBox.vue') ? REPLACEMENTS.reduce(replace, code) : undefined,
  }
}

function replace(code: string, { from, to, times = 1 }: Replacement): string {
  const found = code.split(from).length - 1
  if (found !== times) throw new Error(`The search of VitePress has ${found} times, not ${times}: ${from}`)
  return code.replaceAll(from, () => to)
}
