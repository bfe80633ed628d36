import sys
import requests

url = "http://localhost:3000/apps/42"

body = requests.get(url, timeout=10).json()
if not body["success"]:
    sys.exit(body["message"])

app = body["data"]["app"]
print(app["name"], app["average_rating"])
for review in app["reviews"]:
    print(review["rating"], review["comment"])
