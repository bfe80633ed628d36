import sys
import requests

url = "http://localhost:3000/apps/42"

answer = requests.get(url, timeout=10).json()
if not answer["success"]:
    sys.exit(answer["message"])

app = answer["data"]["app"]
print(app["name"], app["average_rating"])
for review in app["reviews"]:
    print(review["rating"], review["comment"])
