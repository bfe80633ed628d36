curl -G "http://localhost:3000/apps" \
  --data-urlencode "search=tide table" \
  -d sort=rating \
  -d limit=20
