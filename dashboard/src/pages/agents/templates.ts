/** Tasks to begin from: what an agent needs to be told so that its work can be checked. */
export interface Template {
  readonly label: string
  readonly prompt: string
}

export const TEMPLATES: readonly Template[] = [
  {
    label: 'Fix a failing test',
    prompt:
      'Run the test suite and find the test that fails. Fix the cause, not the test, unless the test itself is wrong. Run the whole suite again and say what was broken and why.',
  },
  {
    label: 'Add tests',
    prompt:
      'Find the part of this repository that is tested least for how much depends on it. Add tests for its main behavior and its edge cases, in the style of the tests that are there. Do not change the code under test. Run the suite.',
  },
  {
    label: 'Update a dependency',
    prompt:
      'Update the dependency NAME to its latest version. Read its release notes for what changed, adapt the code, run the tests, and list what a reviewer should look at.',
  },
  {
    label: 'Explain the code',
    prompt:
      'Read this repository and write docs/overview.md: what it does, how it is laid out, how data flows through it, where to begin reading, and how to build and test it. Change nothing else.',
  },
]
