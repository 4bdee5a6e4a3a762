"""The catalogue is large enough, whole, and says that it is invented."""

import json
from importlib.resources import files

from threadkeep_assistants.shop.catalogue import brands, kinds, orders, products


def test_there_are_more_than_three_hundred_products_of_several_kinds() -> None:
    assert len(products()) >= 300
    assert len(kinds()) >= 10
    assert {"Samsung", "Sony", "Apple"} <= brands()


def test_every_product_has_a_price_specifications_and_reviews() -> None:
    for product in products().values():
        assert product.price > 0
        assert len(product.specs) >= 4
        assert len(product.reviews) >= 3
        assert 1 <= product.rating <= 5
        assert product.name.startswith(product.brand)


def test_no_two_products_have_one_name() -> None:
    names = [product.name for product in products().values()]
    assert len(set(names)) == len(names)


def test_every_order_is_of_a_product_that_exists() -> None:
    assert orders()
    assert {order.product for order in orders().values()} <= products().keys()


def test_the_file_says_that_it_is_invented() -> None:
    data = json.loads(files("threadkeep_assistants.shop").joinpath("catalogue.json").read_text(encoding="utf-8"))
    assert "invented" in data["note"].lower()
