"""What happens to traced records and when: the seams of the doors, the topic of events, spans and their exporters."""
