"""Sources of the original files of the public data sets: pinned URLs with sizes and checksums."""

from __future__ import annotations

from dataclasses import dataclass

# GitHub's host for raw files. Every URL contains a commit hash, so the files never change.
HOST = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Source:
    """One original file.

    Attributes
    ----------
    repository, commit, path : str
        Location of the file on GitHub.
    size : int
        Size in bytes.
    sha256 : str
        SHA-256 checksum.
    """

    repository: str
    commit: str
    path: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def url(self) -> str:
        """URL of the file."""
        return f"{HOST}/{self.repository}/{self.commit}/{self.path}"


_MISVM = ("garydoranjr/misvm", "b2118fe04d98c00436bdf8a0e4bbfb6082c5751c")
_MILSURVEY = ("macarbonneau/MILSurvey", "c612d614d945f9f442d7454e288b34369e294e58")
_MCILBOOST = ("junyanz/MCILBoost", "5870e57916b7c094a454a1be203e5e4b6d0dcd61")
_SMAI = ("shreyam4/SMAI-Project", "35fe201d0989dd16866ca6fb7f1db193a67d8946")
_MIL = ("rosasalberto/mil", "a2c6414122da38dbfeea94d5a660e7306e2408aa")
_MIE = ("GitteVW/Multi-Instance-Experiments", "47de57f56c4b407765d9355dd97a4f27d2f0ba07")

# The files of every data set, in the order of the arguments of its parser.
SOURCES: dict[str, tuple[Source, ...]] = {
    "musk1": (
        Source(
            *_MISVM,
            "example/musk1.data",
            328_852,
            "59e3be669d645a72b2de7e7baa21e7d4e537be918e4320e8dea6aadc9227f379",
        ),
    ),
    "musk2": (
        Source(
            *_MILSURVEY,
            "Datasets/Musk/clean2.data",
            4_590_077,
            "8dee8e1946b6939ad96cc0d30560ae7e71c60886dd41d794a878f38a0c1a6a9f",
        ),
    ),
    "elephant": (
        Source(
            *_MCILBOOST,
            "data/elephant.data",
            3_326_584,
            "6a01ccd8c6f88f730c44864394368795b18c16735a200979632d4e51faa09b7b",
        ),
    ),
    "fox": (
        Source(
            *_MCILBOOST,
            "data/fox.data",
            3_157_241,
            "2b796a2691fdb15a2069d7484fb57b0710b7f48379310cf927d3039f6ac2eb1e",
        ),
    ),
    "tiger": (
        Source(
            *_MCILBOOST,
            "data/tiger.data",
            2_914_525,
            "2cc707271b454358a6f9e59b5ee7b9096d8fcd31b574c95ecad1cb415bfb6a52",
        ),
    ),
    "hja_birdsong": (
        Source(
            *_MILSURVEY,
            "Datasets/Birds/hja_birdsong_features.txt",
            3_651_546,
            "6cd7374a9bd76468b099a3a5e3891e8461ad84a4dfea2c744c0089b73c16d193",
        ),
        Source(
            *_MILSURVEY,
            "Datasets/Birds/hja_birdsong_instance_labels.txt",
            65_305,
            "89203119824f4fd0480b8bc705ef1941c7088fb8bceac74bd9b3e39c88cbe0b6",
        ),
        Source(
            *_MILSURVEY,
            "Datasets/Birds/hja_birdsong_bag_labels.txt",
            4_742,
            "7094a78e759ec5d5565da5d51bab6a495fd528bc123b99e787eefeb276c31ac2",
        ),
        Source(
            *_MILSURVEY,
            "Datasets/Birds/hja_birdsong_class_names.txt",
            356,
            "39d70813536fcb11cef4f4e6cfc85e51bcc6595c53d7b5951c25cf1b20d77947",
        ),
    ),
    "mscv2": (
        Source(
            *_SMAI,
            "MSCV2.mat",
            393_845,
            "3e9f89d48ce1ef8c0a165b780f871dc68f00c387edb8e3a45812e18c8217868f",
        ),
    ),
    "corel2000": (
        Source(
            *_MIL,
            "mil/data/datasets/csv/corel_dogs.csv",
            915_916,
            "d499f15d29e9a6cb55152c2a65b01a445dae06ae30af7c4ddd57d821d70a53f0",
        ),
    ),
    "news_alt_atheism": (
        Source(
            *_MIE,
            "Data/Newsgroup/alt_atheism.txt",
            9_856_212,
            "d9d320b184da697f7cf26e965b8dac57d2e2ed8ad73fe5c42bfbb37a3c39cafa",
        ),
    ),
    "news_comp_graphics": (
        Source(
            *_MIE,
            "Data/Newsgroup/comp_graphics.txt",
            5_599_250,
            "c484611d5f53ab170b4750b608f832e1836e3cf0774ddda29653db125bece09c",
        ),
    ),
    "news_comp_sys_ibm_pc_hardware": (
        Source(
            *_MIE,
            "Data/Newsgroup/comp_sys_ibm_pc_hardware.txt",
            8_735_835,
            "a58ec628adf97943e5df453a7dd387880e164c143144a839c211d21dcbd86107",
        ),
    ),
    "news_comp_windows_x": (
        Source(
            *_MIE,
            "Data/Newsgroup/comp_windows_x.txt",
            5_628_214,
            "4f7f94039407ebd0adf6e2d75dfedee46ca16b70566cc04d6b2c41b3fd1bb70e",
        ),
    ),
    "news_rec_autos": (
        Source(
            *_MIE,
            "Data/Newsgroup/rec_autos.txt",
            6_258_032,
            "6eef47f6da5e98b26117dfbdc9113465a511ca9040cc9498797605628e85338a",
        ),
    ),
    "news_rec_sport_baseball": (
        Source(
            *_MIE,
            "Data/Newsgroup/rec_sport_baseball.txt",
            6_077_022,
            "3da24af13a53d6345e23350302ec96eb66da83b1c37800f5658b244cbea3ded1",
        ),
    ),
    "news_sci_crypt": (
        Source(
            *_MIE,
            "Data/Newsgroup/sci_crypt.txt",
            7_752_984,
            "2069d0e0ba15d3b3b1cf2b319696881537ac64b7a9fca08de850162eab03b235",
        ),
    ),
    "news_sci_med": (
        Source(
            *_MIE,
            "Data/Newsgroup/sci_med.txt",
            5_510_491,
            "16d457aee92b8b637d3a6a83d47113e34ffc2930ba21b36b6bb8906ceae506e1",
        ),
    ),
    "news_talk_politics_mideast": (
        Source(
            *_MIE,
            "Data/Newsgroup/talk_politics_mideast.txt",
            6_109_603,
            "fdb4e4f4901d219e2d0294bc7aa8ac87e3e79558b339af5ac1ca713bfb5f1761",
        ),
    ),
    "news_talk_religion_misc": (
        Source(
            *_MIE,
            "Data/Newsgroup/talk_religion_misc.txt",
            8_335_787,
            "1ab1636a8341b41a7a481d3ece3eabb2528ba6891473ec6369adb921cfce24ca",
        ),
    ),
}
