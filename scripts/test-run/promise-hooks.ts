/**
 * `node:test` tracks every promise of a process with an async hook, to attribute uncaught errors to tests. That takes up to
 * a quarter of the CPU time of tests with many promises. Here it tracks them only while a file registers its tests, and an
 * uncaught error ends the process.
 */
import { type AsyncHook, createHook, type HookCallbacks } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { inspect } from 'node:util'

/** Of Node.js for an uncaught error. */
const UNCAUGHT_EXIT_CODE = 7

const prototype = Object.getPrototypeOf(createHook({})) as AsyncHook
const { enable } = prototype
/** The hook of `node:test`, which creates it for the first test. */
let everything: AsyncHook | undefined
/** Replaces it while tests run: tracks tests, but no promises. Absent if this Node.js keeps the hook's callback elsewhere. */
let testsOnly: AsyncHook | undefined

prototype.enable = function (this: AsyncHook): AsyncHook {
  prototype.enable = enable
  everything = this
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

/** Runs `register`, which may call `test`, `suite` and hooks also after an `await`; not for two files at once. */
export async function trackingPromises(register: () => Promise<unknown>): Promise<void> {
  testsOnly?.disable()
  everything?.enable()
  try {
    await register()
  } finally {
    if (testsOnly !== undefined) {
      everything?.disable()
      testsOnly.enable()
    }
  }
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    writeSync(process.stderr.fd, `${inspect(error)}\n`)
    process.exit(UNCAUGHT_EXIT_CODE)
  })
}
