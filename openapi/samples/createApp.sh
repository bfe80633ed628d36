curl "$BASE_URL/apps" \
  -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "name": "Cloud Atlas",
    "description": "Names the clouds above you.",
    "category_id": 3
  }'
