/** How receivers verify what they are sent: the examples of `docs/webhooks.md`, which a test compares these with. */
import type { CodeTab } from '../../ui/code.tsx'
import type { Language } from './search.ts'

const TYPESCRIPT = `import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook, WebhookVerificationError } from 'turnpike-webhooks'

const secret = process.env.TURNPIKE_WEBHOOK_SECRET ?? ''
const options = { requireTimestamp: true }
const handled = new Set() // in production: a unique column of your database

const server = createServer(async (request, response) => {
  try {
    const event = verifyWebhook(await buffer(request), request.headers, secret, options)
    if (!handled.has(event.event_id)) {
      handled.add(event.event_id)
      if (event.type === 'agent.failed') console.log(event.data.agent.name, 'failed:', event.data.agent.error?.message)
    }
    response.writeHead(204).end()
  } catch (error) {
    if (error instanceof WebhookVerificationError) console.log('refused:', error.reason)
    response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end()
  }
})
server.listen(Number(process.env.PORT ?? 8000), () => console.log('listening on', server.address()))
`

const PYTHON = `import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def verify(body: bytes, headers, secret: str, tolerance: int = 300) -> dict:
    """The event, if the secret has signed it; otherwise ValueError."""
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    if len(key) < 24:
        raise ValueError("this is no webhook secret")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > tolerance:
        raise ValueError("the timestamp is missing, too old or too new")
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
    received = headers.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(one.encode(), expected) for one in received):
        raise ValueError("no signature matches")
    return json.loads(body)


class Receiver(BaseHTTPRequestHandler):
    handled = set()  # in production: a unique column of your database

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = verify(body, self.headers, os.environ["TURNPIKE_WEBHOOK_SECRET"])
        except ValueError as error:
            print("refused:", error, flush=True)
            return self.answer(400)
        if event["event_id"] not in self.handled:
            self.handled.add(event["event_id"])
            if event["type"] == "agent.failed":
                print(event["data"]["agent"]["name"], "failed:", event["data"]["agent"]["error"]["message"], flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


server = ThreadingHTTPServer(("", int(os.environ.get("PORT", "8000"))), Receiver)
print("listening on port", server.server_port, flush=True)
server.serve_forever()
`

const GO = `package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// Verify returns nil if the secret has signed this body with these headers.
func Verify(body []byte, header http.Header, secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 {
		return errors.New("this is no webhook secret")
	}
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return errors.New("the timestamp is missing, too old or too new")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), timestamp, body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, received := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(received), expected) {
			return nil
		}
	}
	return errors.New("no signature matches")
}
`

const RUBY = String.raw`require "json"
require "openssl"

# The event, if the secret has signed it; otherwise ArgumentError. In Rails: request.raw_post, request.headers.
def verify_webhook(body, headers, secret, tolerance: 300)
  key = secret.delete_prefix("whsec_").unpack1("m0")
  raise ArgumentError, "this is no webhook secret" if key.bytesize < 24

  timestamp = headers["webhook-timestamp"].to_s
  in_time = timestamp.match?(/\A\d+\z/) && (Time.now.to_i - timestamp.to_i).abs <= tolerance
  raise ArgumentError, "the timestamp is missing, too old or too new" unless in_time

  signed = "#{headers["webhook-id"]}.#{timestamp}.".b + body.b
  expected = "v1," + [OpenSSL::HMAC.digest("SHA256", key, signed)].pack("m0")
  received = headers["webhook-signature"].to_s.split
  raise ArgumentError, "no signature matches" unless received.any? { |one| OpenSSL.secure_compare(one, expected) }

  JSON.parse(body)
end
`

export const VERIFICATION_CODE = [
  { id: 'typescript', label: 'TypeScript', code: TYPESCRIPT },
  { id: 'python', label: 'Python', code: PYTHON },
  { id: 'go', label: 'Go', code: GO },
  { id: 'ruby', label: 'Ruby', code: RUBY },
] as const satisfies readonly (CodeTab & { readonly id: Language })[]
