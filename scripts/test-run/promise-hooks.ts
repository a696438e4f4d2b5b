/**
 * `node:test` follows every promise of a process, to learn by which test an error was caused that nobody catches. That takes
 * up to a quarter of the CPU time of tests with many promises. Here it follows them only while a file registers its tests.
 */
import { type AsyncHook, createHook, type HookCallbacks } from 'node:async_hooks'
import { writeSync } from 'node:fs'

/** That of `node:test` for an error that nobody catches. */
const UNCAUGHT_EXIT_CODE = 7

const prototype = Object.getPrototypeOf(createHook({})) as AsyncHook
const { enable } = prototype
/** That of `node:test`, which it creates for the first test. */
let followed: AsyncHook | undefined
/** Takes its place: follows tests and no promises. */
let testsOnly: AsyncHook | undefined

prototype.enable = function (this: AsyncHook): AsyncHook {
  prototype.enable = enable
  followed = this
  const init = initOf(this)
  if (init !== undefined) testsOnly = createHook({ init: ofTests(init), trackPromises: false })
  return enable.call(this)
}

function initOf(hook: AsyncHook): HookCallbacks['init'] {
  const key = Object.getOwnPropertySymbols(hook).find(({ description }) => description === 'init')
  return key === undefined ? undefined : (hook as unknown as Record<symbol, HookCallbacks['init']>)[key]
}

function ofTests(init: NonNullable<HookCallbacks['init']>): NonNullable<HookCallbacks['init']> {
  return (id, type, triggerId, resource) => {
    if (type === 'Test') init(id, type, triggerId, resource)
  }
}

/** Runs `register`, which may call `test`, `suite` and hooks after it has waited. Once at a time. */
export async function followingPromises(register: () => Promise<unknown>): Promise<void> {
  testsOnly?.disable()
  followed?.enable()
  try {
    await register()
  } finally {
    if (testsOnly !== undefined) {
      followed?.disable()
      testsOnly.enable()
    }
  }
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    writeSync(process.stderr.fd, `${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(UNCAUGHT_EXIT_CODE)
  })
}
