"""What every room of planning stands on: names, labels, order, time and the records of a cluster's facts."""
