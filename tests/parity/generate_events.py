"""Writes data/events.tfevents, which unit/train/event_file.cpp compares with: the same events by TensorBoard's own
writer. Needs tensorboard (2.21 when it was recorded):  python generate_events.py"""
import os

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

START = event_pb2.SessionLog.START
scalars = [("loss/training", 2.5), ("speed/mfu", 0.4150000035762787)]
events = [
    event_pb2.Event(wall_time=1.75e9 + 0.125, step=0, file_version="brain.Event:2"),
    event_pb2.Event(wall_time=1.75e9 + 0.125, step=301, session_log=event_pb2.SessionLog(status=START)),
    event_pb2.Event(
        wall_time=1.75e9 + 1,
        step=301,
        summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=t, simple_value=v) for t, v in scalars]),
    ),
    event_pb2.Event(
        wall_time=1.75e9 + 2,
        step=1 << 40,
        summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss/validation", simple_value=float("nan"))]),
    ),
]
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "events.tfevents")
with open(path, "wb") as file:
    writer = RecordWriter(file)
    for event in events:
        writer.write(event.SerializeToString())
print(path, os.path.getsize(path), "bytes")
