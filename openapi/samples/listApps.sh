curl -G "$BASE_URL/apps" \
  --data-urlencode "search=tide table" \
  -d sort=rating \
  -d limit=20 \
  -d page=2
