"""Public benchmark data sets, parsed from the original files of their authors or from mirrors.

Every function reads the original files from ``$BAGWISE_DATA/raw/<dataset>/`` if they exist, otherwise from
the cache. The cache is ``$BAGWISE_CACHE`` or the default cache folder of the operating system. Files that are
not cached are downloaded from a pinned URL. Checksums are always verified. Most data sets are sorted by
class, so shuffle the bags before cross-validation. ``docs/data.md`` describes how each data set was verified
and which public copies are wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bagwise._display.bunch import ShownBunch
from bagwise.datasets._download import original_files
from bagwise.datasets._parse import (
    parse_birdsong,
    parse_c45,
    parse_corel,
    parse_indexed,
    parse_mscv2,
    parse_newsgroup,
)

NEWSGROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.sys.ibm.pc.hardware",
    "comp.windows.x",
    "rec.autos",
    "rec.sport.baseball",
    "sci.crypt",
    "sci.med",
    "talk.politics.mideast",
    "talk.religion.misc",
)
_MSRC_CLASSES = (
    "building grass tree cow horse sheep sky mountain aeroplane water face car "
    "bicycle flower sign bird book chair road cat dog body boat"
)
_COREL_CLASSES = (
    "African people and villages, Beach, Historical buildings, Buses, Dinosaurs, Elephants, Flowers, Horses, "
    "Mountains and glaciers, Food, Dogs, Lizards, Fashion models, Sunset scenes, Cars, Waterfalls, "
    "Antique furniture, Battle ships, Skiing, Desserts"
)
_COREL_FEATURES = "L U V wavelet_HL wavelet_LH wavelet_HH inertia_1 inertia_2 inertia_3"


def fetch_musk1() -> Bunch:
    """Fetch Musk 1: molecules that smell of musk in at least one of their shapes (92 bags, 476 shapes).

    Source: UCI Machine Learning Repository, "Musk (Version 1)", the file ``clean1.data``, from the
    mirror in ``garydoranjr/misvm``. License: CC BY 4.0 (the data, stated by UCI). Cite Dietterich, Lathrop
    and Lozano-Perez (1997), Solving the multiple instance problem with axis-parallel rectangles, Artificial
    Intelligence 89, doi:10.1016/S0004-3702(96)00034-3.

    Returns
    -------
    Bunch
        `bags` with the names of the molecules as ids, 166 features (int16) and the instance column
        "conformation"; `y`, 1 for the 47 musks; `class_names`; `DESCR`.

    Examples
    --------
    >>> from bagwise import fetch_musk1
    >>> fetch_musk1().bags  # doctest: +SKIP
    Bags(92 bags, 476 instances, 166 features)
    """
    return _musk("musk1", "Musk 1")


def fetch_musk2() -> Bunch:
    """Fetch Musk 2, a larger version of Musk 1 with more shapes per molecule (102 molecules, 6598 shapes).

    Source: UCI Machine Learning Repository, "Musk (Version 2)", the file ``clean2.data``, from the
    mirror in ``macarbonneau/MILSurvey``. License: CC BY 4.0 (the data, stated by UCI). Cite Dietterich,
    Lathrop and Lozano-Perez (1997), Artificial Intelligence 89, doi:10.1016/S0004-3702(96)00034-3.

    Returns
    -------
    Bunch
        The same entries as for `fetch_musk1`. 39 molecules are musks, and bags have 1 to 1044 instances.

    Examples
    --------
    >>> from bagwise import fetch_musk2
    >>> fetch_musk2().bags  # doctest: +SKIP
    Bags(102 bags, 6,598 instances, 166 features)
    """
    return _musk("musk2", "Musk 2")


def fetch_elephant() -> Bunch:
    """Fetch Elephant: 100 images with an elephant and 100 without, as bags of 1391 segments.

    Source: ``junyanz/MCILBoost``. License: MIT (the repository); no terms are stated for the data. Cite
    Andrews, Tsochantaridis and Hofmann (2003), Support vector machines for multiple-instance learning,
    NIPS 15.

    Returns
    -------
    Bunch
        `bags` with the ids "1" to "200" and 230 features (float32); `y`, 1 for elephants; `class_names`;
        `DESCR`. Some features are constant and several have long tails, so a rank or quantile transform
        improves results.

    Examples
    --------
    >>> from bagwise import fetch_elephant
    >>> fetch_elephant().bags  # doctest: +SKIP
    Bags(200 bags, 1,391 instances, 230 features)
    """
    return _animal("elephant")


def fetch_fox() -> Bunch:
    """Fetch Fox: 100 images with a fox and 100 without, as bags of 1320 segments.

    It is the hardest of the three data sets Elephant, Fox and Tiger.

    Source: ``junyanz/MCILBoost``. License: MIT (the repository); no terms are stated for the data. Cite
    Andrews, Tsochantaridis and Hofmann (2003), Support vector machines for multiple-instance learning,
    NIPS 15.

    Returns
    -------
    Bunch
        The same entries as for `fetch_elephant`.

    Examples
    --------
    >>> from bagwise import fetch_fox
    >>> fetch_fox().bags  # doctest: +SKIP
    Bags(200 bags, 1,320 instances, 230 features)
    """
    return _animal("fox")


def fetch_tiger() -> Bunch:
    """Fetch Tiger: 100 images with a tiger and 100 without, as bags of 1220 segments.

    Source: ``junyanz/MCILBoost``. License: MIT (the repository); no terms are stated for the data. Cite
    Andrews, Tsochantaridis and Hofmann (2003), Support vector machines for multiple-instance learning,
    NIPS 15.

    Returns
    -------
    Bunch
        The same entries as for `fetch_elephant`.

    Examples
    --------
    >>> from bagwise import fetch_tiger
    >>> fetch_tiger().bags  # doctest: +SKIP
    Bags(200 bags, 1,220 instances, 230 features)
    """
    return _animal("tiger")


def fetch_hja_birdsong() -> Bunch:
    """Fetch HJA birdsong: 548 ten-second recordings, 13 species, 10232 spectrogram segments.

    Source: the authors' text files, from the mirror in ``macarbonneau/MILSurvey``. License: CRAPL v0 beta 1
    (the repository's code); no terms are stated for the data. Cite Briggs, Fern and Raich (2012), Rank-loss
    support instance machines for MIML instance annotation, KDD, doi:10.1145/2339530.2339616.

    Returns
    -------
    Bunch
        `bags` with 38 features (float32); `instance_y`, the species of the 4998 labeled segments and -1
        for the others; `y` (548, 13), bool, the union of the segment labels of each bag; `y_annotated`, the
        annotation of the whole recording; `class_names`, `class_codes`, `DESCR`. The literature uses the
        annotations, which include species without any labeled segment.

    Examples
    --------
    >>> from bagwise import fetch_hja_birdsong
    >>> fetch_hja_birdsong().bags  # doctest: +SKIP
    Bags(548 bags, 10,232 instances, 38 features)
    """
    return _bunch(
        "HJA birdsong: ten-second recordings labeled with bird species (Briggs et al. 2012).",
        **parse_birdsong(*original_files("hja_birdsong")),
    )


def fetch_mscv2() -> Bunch:
    """Fetch MSRC v2 for instance annotation: 591 images, 23 classes, 1758 regions, all labeled.

    Source: ``shreyam4/SMAI-Project``. License: none stated. Cite Winn, Criminisi and Minka (2005), Object
    categorization by learned universal visual dictionary, ICCV; and Briggs, Fern and Raich (2012), KDD,
    doi:10.1145/2339530.2339616.

    Returns
    -------
    Bunch
        `bags` with 48 features (float32): histograms of gradients and colors; `instance_y`, the class of
        every region; `y` (591, 23), bool, the union of the region labels of each bag; `class_names`;
        `DESCR`. The file contains no class names; they are inferred from the usual order of MSRC v2.

    Examples
    --------
    >>> from bagwise import fetch_mscv2
    >>> fetch_mscv2().bags  # doctest: +SKIP
    Bags(591 bags, 1,758 instances, 48 features)
    """
    bags, y, instance_y = parse_mscv2(*original_files("mscv2"))
    return _bunch(
        "MSRC v2: images with labeled regions of 23 classes (Winn et al. 2005, Briggs et al. 2012).",
        bags=bags,
        y=y,
        instance_y=instance_y,
        class_names=np.array(_MSRC_CLASSES.split()),
    )


def fetch_corel2000() -> Bunch:
    """Fetch Corel: 2000 images in 20 categories of 100, as bags of 7947 regions.

    Source: the data set "Corel dogs" of ``rosasalberto/mil``, which contains all images. License: MIT (the
    repository); no terms are stated for the data. Cite Chen and Wang (2004), Image categorization by
    learning and reasoning with regions, JMLR 5; Chen, Bi and Wang (2006), MILES, IEEE PAMI 28,
    doi:10.1109/TPAMI.2006.248.

    Returns
    -------
    Bunch
        `bags` with the index of the image as id and 9 features (float64): color, texture, shape; `y`, the
        index of the category (experiments with 1000 images use ``y < 10``); `class_names`; `DESCR`.

    Notes
    -----
    The file starts with the dogs. The original order is restored, so the dogs are images 1000 to 1099.

    Examples
    --------
    >>> from bagwise import fetch_corel2000
    >>> fetch_corel2000().bags  # doctest: +SKIP
    Bags(2,000 bags, 7,947 instances, 9 features)
    """
    bags, y = parse_corel(*original_files("corel2000"), feature_names=_COREL_FEATURES.split())
    return _bunch(
        "Corel: images of 20 categories, split into regions (Chen and Wang 2004, Chen et al. 2006).",
        bags=bags,
        y=y,
        class_names=np.array(_COREL_CLASSES.split(", ")),
    )


def fetch_newsgroups(group: str) -> Bunch:
    """Fetch a newsgroup data set: bags of posts, positive if they contain posts from the group.

    Source: ``GitteVW/Multi-Instance-Experiments``. License: none stated. Cite Zhou, Sun and Li (2009),
    Multi-instance learning by treating instances as non-I.I.D. samples, ICML,
    doi:10.1145/1553374.1553534.

    Parameters
    ----------
    group : str
        One of alt.atheism, comp.graphics, comp.sys.ibm.pc.hardware, comp.windows.x, rec.autos,
        rec.sport.baseball, sci.crypt, sci.med, talk.politics.mideast, talk.religion.misc.

    Returns
    -------
    Bunch
        100 `bags` with 200 features (float32), which resemble term weights and are mostly zero; `instance_y`,
        1 for posts of the group (about 3 % of the posts in positive bags); `y`, the maximum of `instance_y`
        in each bag; `class_names`; `DESCR`.

    Examples
    --------
    >>> from bagwise import fetch_newsgroups
    >>> fetch_newsgroups("sci.med").bags  # doctest: +SKIP
    Bags(100 bags, 3,045 instances, 200 features)
    """
    if group not in NEWSGROUPS:
        raise ValueError(f"group is {group!r}; expected one of {', '.join(NEWSGROUPS)}.")
    bags, y, instance_y = parse_newsgroup(*original_files("news_" + group.replace(".", "_")))
    return _bunch(
        f"20 newsgroups, {group}: bags of posts, positive if a post is from the group (Zhou et al. 2009).",
        bags=bags,
        y=y,
        instance_y=instance_y,
        class_names=np.array(["other", group]),
    )


def _musk(dataset: str, title: str) -> Bunch:
    bags, y = parse_c45(*original_files(dataset))
    return _bunch(
        f"{title}: molecules and their shapes; a molecule is a musk if at least one of its shapes smells of "
        "musk (Dietterich et al. 1997).",
        bags=bags,
        y=y,
        class_names=np.array(["non-musk", "musk"]),
    )


def _animal(name: str) -> Bunch:
    bags, y = parse_indexed(*original_files(name))
    return _bunch(
        f"{name.capitalize()}: images, split into segments (Andrews et al. 2003).",
        bags=bags,
        y=y,
        class_names=np.array([f"not {name}", name]),
    )


def _bunch(title: str, **parts: Any) -> Bunch:
    bags = parts["bags"]
    text = (
        f"{title} {len(bags)} bags, {bags.n_instances} instances, {bags.n_features} features. The bags are "
        "mostly sorted by class, so shuffle them before cross-validation."
    )
    return ShownBunch(**parts, DESCR=text)
