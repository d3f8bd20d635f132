"""A group consumer of confluent-kafka that speaks the new consumer protocol."""

from compat_tests.groups.run_confluent import NEW, main

if __name__ == "__main__":
    main(NEW)
