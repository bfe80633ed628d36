import sys
import requests

key = "apps_YOUR_KEY"

response = requests.post(
    "http://localhost:3000/apps",
    headers={"Authorization": f"Bearer {key}"},
    json={
        "name": "Cloud Atlas",
        "description": "Names the clouds above you.",
        "category_id": 3,
    },
    timeout=10,
)
body = response.json()
data = body["data"]
if not body["success"]:
    if data["code"] == "unknown_category":
        print("Choose from", data["categories"])
    sys.exit(f"{body['message']} {data.get('errors')}")

print(data["app_id"], data["status"])
