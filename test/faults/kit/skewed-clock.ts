/** Preloaded into a gateway: its wall clock is wrong by `TURNPIKE_TEST_SKEW_MS`. */
const skewMs = Number(process.env['TURNPIKE_TEST_SKEW_MS'] ?? 0)
const trueNow = Date.now
const TrueDate = Date

Date.now = () => trueNow() + skewMs
globalThis.Date = new Proxy(TrueDate, {
  construct: (target, parameters, self) =>
    Reflect.construct(target, parameters.length === 0 ? [trueNow() + skewMs] : parameters, self) as Date,
})
