"""Files where the data lies: any file system that Hadoop knows, by the driver's own JVM."""

from typing import Any


class Storage:
    """A folder, as `file:///...`, `hdfs://...`, `s3a://...` or a plain path. Names are relative to it."""

    def __init__(self, spark: Any, root: str) -> None:
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        configuration = spark._jsc.hadoopConfiguration()
        given = self._jvm.org.apache.hadoop.fs.Path(root)
        self._files = given.getFileSystem(configuration)
        self._root = self._files.makeQualified(given)
        self._context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(self._root.toUri(), configuration)

    @property
    def root(self) -> str:
        return str(self._root.toString())

    def path(self, name: str) -> str:
        """The full path, as Spark takes it."""
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._at(name)))

    def names(self, folder: str) -> list[str]:
        """What lies directly in a folder; nothing if there is no such folder."""
        if not self.exists(folder):
            return []
        return sorted(str(each.getPath().getName()) for each in self._files.listStatus(self._at(folder)))

    def files(self, folder: str) -> dict[str, int]:
        """All files below a folder by their names relative to the root, with their sizes."""
        if not self.exists(folder):
            return {}
        found, prefix = {}, len(self.root) + 1
        remaining = self._files.listFiles(self._at(folder), True)
        while remaining.hasNext():
            status = remaining.next()
            found[str(status.getPath().toString())[prefix:]] = int(status.getLen())
        return found

    def read(self, name: str) -> str:
        stream = self._files.open(self._at(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Writes a file, in place of an older one."""
        stream = self._files.create(self._at(name), True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()

    def publish(self, name: str, text: str, marker: str) -> bool:
        """Writes a file that must not exist yet, whole or not at all; false if it exists."""
        draft = f"{name.rpartition('/')[0]}/.{name.rpartition('/')[2]}.{marker}"
        self.write(draft, text)
        no_options = self._gateway.new_array(self._jvm.org.apache.hadoop.fs.Options.Rename, 0)
        try:
            self._context.rename(self._at(draft), self._at(name), no_options)
        except Exception as error:
            self.delete(draft)
            if "FileAlreadyExists" in str(error) or self.exists(name):
                return False
            raise
        return True

    def move(self, name: str, target: str) -> None:
        """Moves a file, in place of an older one."""
        self._files.mkdirs(self._at(target).getParent())
        overwrite = self._gateway.new_array(self._jvm.org.apache.hadoop.fs.Options.Rename, 1)
        overwrite[0] = self._jvm.org.apache.hadoop.fs.Options.Rename.OVERWRITE
        self._context.rename(self._at(name), self._at(target), overwrite)

    def delete(self, name: str) -> None:
        """Removes a file, or a folder with all that is in it; nothing happens if there is none."""
        self._files.delete(self._at(name), True)

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name))
