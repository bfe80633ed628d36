etag=$(curl -fsS -o /dev/null -w '%header{etag}' \
  -H "Authorization: Bearer apps_YOUR_KEY" \
  "http://localhost:3000/apps/42") &&

# Returns 412 if the app has changed since it was read.
curl -X PUT "http://localhost:3000/apps/42" \
  -H "Authorization: Bearer apps_YOUR_KEY" \
  -H "Content-Type: application/json" \
  -H "If-Match: $etag" \
  -d '{"version": "2.5.0"}'
