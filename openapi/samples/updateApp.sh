etag=$(curl -fsS -o /dev/null -w '%header{etag}' \
  -H "Authorization: Bearer $API_KEY" \
  "$BASE_URL/apps/42") &&

# Refused with 412 where the app changed meanwhile.
curl -X PUT "$BASE_URL/apps/42" \
  -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" \
  -H "If-Match: $etag" \
  -d '{"version": "2.5.0"}'
