"""Regions of images: what lies under them, and which of those that overlap are kept."""

import math

import numpy

from ... import _strata
from .common import positions, wide


def roi_align(
    x,
    rois,
    batch_indices,
    *,
    coordinate_transformation_mode="half_pixel",
    mode="avg",
    output_height=1,
    output_width=1,
    sampling_ratio=0,
    spatial_scale=1.0,
):
    """(regions, c, height, width): what lies under a grid over each region. Where the grid's density follows from the
    regions, they are computed for it."""
    half = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    boxes = wide(rois) * spatial_scale - half
    spans = [boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]]
    spans = spans if half else [s.maximum(1.0) for s in spans]
    if sampling_ratio > 0:
        return _roi_grid(
            x, boxes, batch_indices, spans, (output_height, output_width), (sampling_ratio, sampling_ratio), mode
        )
    parts = []
    heights, widths = (s.numpy() for s in spans)
    for i in range(rois.shape[0]):
        counts = max(math.ceil(heights[i] / output_height), 1), max(math.ceil(widths[i] / output_width), 1)
        one = slice(i, i + 1)
        parts.append(
            _roi_grid(
                x, boxes[one], batch_indices[one], [s[one] for s in spans], (output_height, output_width), counts, mode
            )
        )
    return (
        _strata.cat(parts, 0)
        if parts
        else x[:0].shrink([(0, 0), (0, x.shape[1]), (0, output_height), (0, output_width)])
    )


def _roi_grid(x, boxes, batches, spans, outer, counts, mode):
    h, w = x.shape[2:]
    places_of = []
    for size, bins, count, first, span in zip((h, w), outer, counts, (boxes[:, 1], boxes[:, 0]), spans):
        step = (positions(bins * count, x).cast("float32") + 0.5) / (bins * count)
        at = first.reshape(-1, 1) + span.reshape(-1, 1) * step
        there = (at >= -1) & (at <= size)
        at = at.clip(0, size - 1)
        low = at.floor()
        places_of.append((low, (low + 1).minimum(size - 1), at - low, there))
    flat = wide(x).take(batches, 0).reshape(boxes.shape[0], x.shape[1], -1)
    (y0, y1, fy, iny), (x0, x1, fx, inx) = places_of
    corners = []
    for row, dy in ((y0, 1 - fy), (y1, fy)):
        for column, dx in ((x0, 1 - fx), (x1, fx)):
            at = (row.unsqueeze(2) * w + column.unsqueeze(1)).cast("int64")
            shape = at.shape
            found = flat.gather(
                2, at.reshape(shape[0], 1, -1).expand(shape[0], x.shape[1], shape[1] * shape[2])
            ).reshape(shape[0], x.shape[1], *shape[1:])
            corners.append(found * (dy.unsqueeze(2) * dx.unsqueeze(1)).unsqueeze(1))
    inside = (iny.unsqueeze(2) & inx.unsqueeze(1)).unsqueeze(1)
    shape = boxes.shape[0], x.shape[1], outer[0], counts[0], outer[1], counts[1]
    if mode == "max":  # the largest of the four corners' parts
        value = corners[0].maximum(corners[1]).maximum(corners[2]).maximum(corners[3])
        return _strata.where(inside, value, 0).reshape(shape).max((3, 5)).cast(x.dtype)
    value = corners[0] + corners[1] + corners[2] + corners[3]
    return _strata.where(inside, value, 0).reshape(shape).mean((3, 5)).cast(x.dtype)


def _corners(boxes, center_point_box):
    """(low y, low x, high y, high x) of boxes (n, 4)."""
    if center_point_box:
        x, y, w, h = boxes.T
        return y - h / 2, x - w / 2, y + h / 2, x + w / 2
    a, b = boxes[:, :2], boxes[:, 2:]
    return *numpy.minimum(a, b).T, *numpy.maximum(a, b).T


def non_max_suppression(
    boxes, scores, max_output_boxes_per_class=None, iou_threshold=None, score_threshold=None, *, center_point_box=0
):
    """(k, 3) of batch, class and box, by falling scores: the host chooses them."""
    most, overlap, least = (
        None if v is None or not v.size else v.reshape(-1)[0].item()
        for v in (max_output_boxes_per_class, iou_threshold, score_threshold)
    )
    out = []
    for batch, (all_boxes, all_scores) in enumerate(zip(boxes.astype(numpy.float32), scores)):
        low_y, low_x, high_y, high_x = _corners(all_boxes, center_point_box)
        area = (high_y - low_y) * (high_x - low_x)
        for kind, row in enumerate(all_scores):
            order = numpy.argsort(-row, kind="stable")
            order = order if least is None else order[row[order] > least]
            chosen = 0
            while len(order) and chosen < (most or 0):
                best, order = order[0], order[1:]
                out.append((batch, kind, best))
                chosen += 1
                height = numpy.minimum(high_y[best], high_y[order]) - numpy.maximum(low_y[best], low_y[order])
                width = numpy.minimum(high_x[best], high_x[order]) - numpy.maximum(low_x[best], low_x[order])
                both = numpy.maximum(height, 0) * numpy.maximum(width, 0)
                with numpy.errstate(divide="ignore", invalid="ignore"):
                    share = both / (area[best] + area[order] - both)
                order = order[~((both > 0) & (share > (overlap or 0)))]
    return numpy.array(out, numpy.int64).reshape(-1, 3)


ROWS = {"NonMaxSuppression": non_max_suppression, "RoiAlign": roi_align}
