"""A shelf for papers that exist only to test the runner."""

MODULES = {"toy": "toybox.toy"}
