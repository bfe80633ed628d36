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
answer = response.json()
data = answer["data"]
if not answer["success"]:
    if data["code"] == "unknown_category":
        print("Take one of", data["categories"])
    sys.exit(f"{answer['message']} {data.get('errors')}")

print(data["app_id"], data["status"])
