package sqlite

import "syscall"

// remoteKinds are file systems that other machines write to as well, of which this
// one's kernel knows nothing.
var remoteKinds = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x01021997: "9p", 0x65735546: "FUSE",
	0x5346414f: "AFS", 0x00c36400: "Ceph", 0x786f4256: "a shared folder", 0x0bd00bd0: "Lustre", 0x01161970: "GFS2", 0x7461636f: "OCFS2",
}

// remoteFolder says why what happens in a folder is not all told, "" where it is.
func remoteFolder(folder string) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return "" // what cannot be asked is taken for a local disk
	}
	if kind := remoteKinds[uint32(fs.Type)]; kind != "" {
		return "it lies on " + kind + ", which does not tell of all writers"
	}
	return ""
}
