curl "http://localhost:3000/apps" \
  -H "Authorization: Bearer apps_YOUR_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "name": "Cloud Atlas",
    "description": "Names the clouds above you.",
    "category_id": 3
  }'
