-- wrk: every request a new order; the answer comes when it has ended.
local threads = 0
function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end
function init(args)
  run, sent = args[1], 0
end
function request()
  sent = sent + 1
  local key = run .. "-" .. id .. "-" .. sent
  return wrk.format("POST", "/v1/orders?wait=30s", {["Idempotency-Key"] = key, ["Content-Type"] = "application/json"},
    '{"order_id":"' .. key .. '","customer_id":"C-' .. sent % 1000 .. '","country":"DE","lines":[{"sku":"PADDLE","quantity":1,"unit_price_cents":100}]}')
end
