import os
import requests

url = f"{os.environ['BASE_URL']}/apps"
query = {"search": "tide"}

while url:
    page = requests.get(url, query, timeout=10)
    page.raise_for_status()
    for app in page.json()["data"]["apps"]:
        print(app["id"], app["name"])

    # The next page's address has the query in it.
    url = page.links.get("next", {}).get("url")
    query = None
