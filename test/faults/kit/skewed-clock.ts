/** Preloaded into a gateway: its wall clock is wrong by `TURNPIKE_TEST_SKEW_MS`, that of its threads is not. */
const skewMs = Number(process.env['TURNPIKE_TEST_SKEW_MS'] ?? 0)
const trueNow = Date.now
const TrueDate = Date
/** With it the program would start from its sources, for more than twice the CPU time. */
delete process.env['NODE_OPTIONS']

Date.now = () => trueNow() + skewMs
globalThis.Date = new Proxy(TrueDate, {
  construct: (target, parameters, self) =>
    Reflect.construct(target, parameters.length === 0 ? [trueNow() + skewMs] : parameters, self) as Date,
})
